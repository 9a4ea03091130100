-- Marks a conversation as deleted and returns its row.
UPDATE conversations SET deleted = 1 WHERE id = :id RETURNING row;
