-- Marks a conversation as deleted, and tells its row.
UPDATE conversations SET deleted = 1 WHERE id = :id RETURNING row;
