-- The last message of a conversation.
SELECT id, position, timestamp
FROM messages
WHERE conversation_id = :conversation_id AND position IS NOT NULL
ORDER BY position DESC
LIMIT 1;
