-- The opening message of a conversation: the first that is there.
SELECT row, content
FROM messages
WHERE conversation_id = :conversation_id AND deleted = 0
ORDER BY timestamp, row
LIMIT 1;
