-- Marks the note :row as deleted.
UPDATE notes
SET deleted = 1, last_modified = :now, version = version + 1
WHERE row = :row
RETURNING version;
