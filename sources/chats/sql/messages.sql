-- Reads :take messages of a conversation from offset :start, in order.
SELECT
    row, id, conversation_id, sender, content, timestamp, last_modified, version,
    (
        SELECT CASE WHEN json_valid(extra_json) THEN CAST(extra_json ->> '$.model' AS TEXT) END
        FROM message_metadata
        WHERE message_id = messages.id
    ) AS model
FROM messages
WHERE conversation_id = :conversation_id AND deleted = 0
ORDER BY timestamp, row
LIMIT :take OFFSET :start;
