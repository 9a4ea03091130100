-- Increments the version of the document :id and updates its modification time.
UPDATE Media
SET last_modified = :now, prev_version = version, version = version + 1
WHERE id = :id;
