-- Stores the position of each message in its conversation, and rebuilds the full-text table of
-- conversations with the senders and the neighbours of the messages.

-- The position counts from 0 without gaps. A deleted message has none.
ALTER TABLE messages ADD COLUMN position INTEGER;
UPDATE messages
SET position = numbered.position
FROM (
    SELECT
        row, row_number() OVER (PARTITION BY conversation_id ORDER BY timestamp, row) - 1 AS position
    FROM messages
    WHERE deleted = 0
) AS numbered
WHERE messages.row = numbered.row;
DROP INDEX messages_by_conversation;
CREATE INDEX messages_by_position ON messages (conversation_id, position);

-- The passages of all conversations: the title of a conversation with its opening message, and every
-- other message, each with its sender and the messages before and after it. The rowid `key` in the
-- full-text table is 2 * conversations.row for a conversation, and 2 * messages.row + 1 for a message.
-- Roles are not indexed as senders, since they occur in most conversations.
CREATE VIEW chat_passages AS
SELECT
    CASE
        WHEN messages.position > 0 THEN 2 * messages.row + 1
        ELSE 2 * conversations.row
    END AS key,
    conversations.id AS conversation_id,
    messages.position,
    CASE WHEN messages.position > 0 THEN NULL ELSE conversations.title END AS title,
    CASE
        WHEN messages.sender COLLATE NOCASE NOT IN (
            'ai', 'assistant', 'bot', 'human', 'model', 'system', 'tool', 'unknown', 'user'
        )
        THEN messages.sender
    END AS sender,
    messages.content,
    previous.content AS previous,
    next.content AS next
FROM conversations
LEFT JOIN messages
    ON messages.conversation_id = conversations.id AND messages.position IS NOT NULL
LEFT JOIN messages AS previous
    ON previous.conversation_id = conversations.id AND previous.position = messages.position - 1
LEFT JOIN messages AS next
    ON next.conversation_id = conversations.id AND next.position = messages.position + 1
WHERE conversations.deleted = 0 AND (conversations.title <> '' OR messages.row IS NOT NULL);

DROP TABLE chat_words;
DROP TABLE chat_fts;
CREATE VIRTUAL TABLE chat_fts USING fts5 (
    title, sender, content, neighbours,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
CREATE VIRTUAL TABLE chat_words USING fts5vocab(chat_fts, row);
-- The neighbours are the end of the message before, of at most 200 characters, and the beginning of
-- the message after, of at most 100, both cut between words.
INSERT INTO chat_fts (rowid, title, sender, content, neighbours)
SELECT
    key, title, sender, content,
    coalesce(
        CASE
            WHEN length(previous) <= 200 THEN previous
            ELSE substr(substr(previous, -200), instr(substr(previous, -200), ' ') + 1)
        END || char(10),
        ''
    ) || coalesce(
        CASE
            WHEN length(next) <= 100 THEN next
            ELSE coalesce(
                nullif(
                    rtrim(substr(next, 1, 100), replace(substr(next, 1, 100), ' ', '')), ''
                ),
                substr(next, 1, 100)
            )
        END,
        ''
    )
FROM chat_passages
ORDER BY key;
UPDATE fts_versions SET version = 3 WHERE table_name = 'chat_fts';
