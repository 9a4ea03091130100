-- Marks a conversation as deleted.
UPDATE conversations
SET deleted = 1, last_modified = :now, version = version + 1
WHERE row = :row;
