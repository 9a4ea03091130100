-- The last message of a conversation.
SELECT
    row, id, sender, content, timestamp, position,
    (SELECT extra_json FROM message_metadata WHERE message_id = messages.id) AS extra
FROM messages
WHERE conversation_id = :conversation_id AND position IS NOT NULL
ORDER BY position DESC
LIMIT 1;
