-- Reads the selected messages of a conversation, ordered by time in any of the stored formats.
-- Columns that older databases lack are read through `absent`: a column name that a subquery does
-- not find in its own table resolves to the outer query.
SELECT id, sender, content, timestamp
FROM (SELECT 1 AS is_selected_variant) AS absent
CROSS JOIN messages
WHERE conversation_id = :id AND deleted = 0 AND COALESCE(
    (SELECT is_selected_variant FROM messages AS own WHERE own.rowid = messages.rowid), 1
) <> 0
ORDER BY
    COALESCE(strftime('%Y-%m-%dT%H:%M:%f', timestamp), timestamp),
    COALESCE(strftime('%Y-%m-%dT%H:%M:%f', last_modified), last_modified),
    id;
