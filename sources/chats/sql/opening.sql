-- The opening message of a conversation: the first one that is not deleted.
SELECT row, content
FROM messages
WHERE conversation_id = :conversation_id AND deleted = 0
ORDER BY timestamp, row
LIMIT 1;
