-- Reads one message by id. Messages of deleted conversations are excluded.
SELECT
    messages.id AS message_id, messages.conversation_id, messages.sender, messages.content,
    messages.timestamp, messages.position, messages.last_modified AS message_last_modified,
    messages.version AS message_version,
    (SELECT extra_json FROM message_metadata WHERE message_id = messages.id) AS extra
FROM messages
JOIN conversations ON conversations.id = messages.conversation_id AND conversations.deleted = 0
WHERE messages.id = :id AND messages.deleted = 0;
