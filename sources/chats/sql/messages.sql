-- Reads :take messages of a conversation from position :start, in order.
SELECT
    id AS message_id, conversation_id, sender, content, timestamp, position,
    last_modified AS message_last_modified, version AS message_version,
    (SELECT extra_json FROM message_metadata WHERE message_id = messages.id) AS extra
FROM messages
WHERE conversation_id = :conversation_id AND position >= :start
ORDER BY position
LIMIT :take;
