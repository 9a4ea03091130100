-- Reads all messages of a conversation, including deleted ones.
SELECT
    row, id, sender, content, timestamp, position,
    (SELECT extra_json FROM message_metadata WHERE message_id = messages.id) AS extra
FROM messages
WHERE conversation_id = :conversation_id;
