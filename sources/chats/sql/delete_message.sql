-- Marks a message as deleted.
UPDATE messages
SET deleted = 1, position = NULL, last_modified = :now, version = version + 1
WHERE row = :row;
