-- Allows or denies a tag.
INSERT OR IGNORE INTO temp.access_tags (source, pattern, denied)
VALUES (:source, :pattern, :denied);
