-- Reads all messages of a conversation, including deleted ones.
SELECT
    row, id, sender, content, timestamp, position,
    (
        SELECT CASE WHEN json_valid(extra_json) THEN CAST(extra_json ->> '$.model' AS TEXT) END
        FROM message_metadata
        WHERE message_id = messages.id
    ) AS model
FROM messages
WHERE conversation_id = :conversation_id;
