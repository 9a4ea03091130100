-- Stores what is known of conversations that are sessions of coding agents, and indexes the commands and
-- files of their messages.

-- `session` is a JSON object with `project`, `folder`, `remote`, `branch`, `model` and `version`; NULL for
-- other conversations. `is_log` is 1 if the conversation holds the reasoning and the tool output of its
-- parent, which lists and searches leave out, else NULL.
ALTER TABLE conversations ADD COLUMN session TEXT;
ALTER TABLE conversations ADD COLUMN is_log INTEGER;
CREATE INDEX conversation_logs ON conversations (id) WHERE is_log = 1;
CREATE INDEX linked_sessions ON conversations (parent_conversation_id) WHERE session IS NOT NULL;

-- The passages of all conversations, as in `0010_chat_passages.sql`, with the commands and files of each
-- message, one a line. They are in `message_metadata.extra_json`. No message of earlier versions has any,
-- so the full-text table stays valid.
DROP VIEW chat_passages;
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
    next.content AS next,
    (
        SELECT group_concat(action.value, char(10))
        FROM (
            SELECT command.value
            FROM message_metadata AS about
            JOIN json_each(
                CASE WHEN json_valid(about.extra_json) THEN about.extra_json END, '$.commands'
            ) AS command
            WHERE about.message_id = messages.id
            UNION ALL
            SELECT file.value
            FROM message_metadata AS about
            JOIN json_each(
                CASE WHEN json_valid(about.extra_json) THEN about.extra_json END, '$.files'
            ) AS file
            WHERE about.message_id = messages.id
        ) AS action
    ) AS actions
FROM conversations
LEFT JOIN messages
    ON messages.conversation_id = conversations.id AND messages.position IS NOT NULL
LEFT JOIN messages AS previous
    ON previous.conversation_id = conversations.id AND previous.position = messages.position - 1
LEFT JOIN messages AS next
    ON next.conversation_id = conversations.id AND next.position = messages.position + 1
WHERE conversations.deleted = 0 AND (conversations.title <> '' OR messages.row IS NOT NULL);
