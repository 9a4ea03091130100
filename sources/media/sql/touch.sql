-- Says that the document :id was changed.
UPDATE Media
SET last_modified = :now, prev_version = version, version = version + 1
WHERE id = :id;
