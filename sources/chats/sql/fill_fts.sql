-- Indexes all passages in an empty full-text table. A passage is the title of a conversation with
-- its opening message, or any other single message.
INSERT INTO chat_fts (rowid, title, content)
SELECT 2 * conversations.row AS key, conversations.title, opening.content
FROM conversations
LEFT JOIN messages AS opening ON opening.row = (
    SELECT messages.row
    FROM messages
    WHERE conversation_id = conversations.id AND deleted = 0
    ORDER BY timestamp, messages.row
    LIMIT 1
)
WHERE conversations.deleted = 0 AND (conversations.title <> '' OR opening.row IS NOT NULL)
UNION ALL
SELECT 2 * messages.row + 1, NULL, messages.content
FROM messages
JOIN conversations ON conversations.id = messages.conversation_id AND conversations.deleted = 0
WHERE messages.deleted = 0 AND EXISTS (
    SELECT 1
    FROM messages AS earlier
    WHERE earlier.conversation_id = messages.conversation_id AND earlier.deleted = 0
      AND (earlier.timestamp, earlier.row) < (messages.timestamp, messages.row)
)
ORDER BY key;
