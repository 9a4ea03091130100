-- Counts the messages of a conversation. Their positions have no gaps.
SELECT coalesce(max(position), -1) + 1 AS n
FROM messages
WHERE conversation_id = :conversation_id;
