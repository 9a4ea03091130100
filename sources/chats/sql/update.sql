-- Brings a conversation up to date; one that was deleted comes back.
UPDATE conversations
SET title = :title, last_modified = :last_modified, version = version + 1, deleted = 0
WHERE id = :id
RETURNING row;
