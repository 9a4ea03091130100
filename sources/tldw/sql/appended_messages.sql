-- Reads the selected messages of a conversation with a rowid above :after, as `messages.sql` does.
SELECT
    id, sender, content, timestamp, messages.rowid AS number, CAST(version AS INTEGER) AS version
FROM (SELECT 1 AS is_selected_variant) AS absent
CROSS JOIN messages
WHERE conversation_id = :id AND messages.rowid > :after AND deleted = 0 AND COALESCE(
    (SELECT is_selected_variant FROM messages AS own WHERE own.rowid = messages.rowid), 1
) <> 0
ORDER BY
    COALESCE(strftime('%Y-%m-%dT%H:%M:%f', timestamp), timestamp),
    COALESCE(strftime('%Y-%m-%dT%H:%M:%f', last_modified), last_modified),
    id;
