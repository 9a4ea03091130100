-- Counts the messages of a conversation.
SELECT count(*) AS n
FROM messages
WHERE conversation_id = :conversation_id AND deleted = 0;
