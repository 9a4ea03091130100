-- Reads one message by row or by id. Messages of deleted conversations are excluded.
SELECT
    messages.row, messages.id, messages.conversation_id, messages.sender, messages.content,
    messages.timestamp, messages.last_modified, messages.version,
    (
        SELECT CASE WHEN json_valid(extra_json) THEN CAST(extra_json ->> '$.model' AS TEXT) END
        FROM message_metadata
        WHERE message_id = messages.id
    ) AS model
FROM messages
JOIN conversations ON conversations.id = messages.conversation_id AND conversations.deleted = 0
WHERE messages.row = COALESCE(:row, (SELECT row FROM messages WHERE id = :id))
  AND messages.deleted = 0;
