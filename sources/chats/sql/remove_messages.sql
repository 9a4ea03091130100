-- Marks the messages of a conversation as deleted and returns their rows.
UPDATE messages SET deleted = 1, position = NULL
WHERE conversation_id = :conversation_id AND deleted = 0
RETURNING row;
