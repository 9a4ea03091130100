-- Rebuilds the full-text tables of notes, conversations and characters with the tokenizer
-- `vademecum`. The writer now passes plain text.

DROP TABLE note_fts;
CREATE VIRTUAL TABLE note_fts USING fts5 (
    title, content, keywords,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
CREATE VIRTUAL TABLE note_words USING fts5vocab(note_fts, row);
INSERT INTO note_fts (rowid, title, content, keywords)
SELECT
    row, title, content,
    (
        SELECT group_concat(keywords.keyword, ' ')
        FROM note_keywords
        JOIN keywords ON keywords.id = note_keywords.keyword_id
        WHERE note_keywords.note_id = notes.id AND keywords.deleted = 0
    )
FROM notes
WHERE deleted = 0;

-- The title of a conversation and its opening message are one passage, and every other message is
-- its own. The rowid is 2 * conversations.row for a conversation, and 2 * messages.row + 1 for a
-- message.
DROP TABLE chat_fts;
CREATE VIRTUAL TABLE chat_fts USING fts5 (
    title, content,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
CREATE VIRTUAL TABLE chat_words USING fts5vocab(chat_fts, row);
INSERT INTO chat_fts (rowid, title, content)
SELECT 2 * conversations.row, conversations.title, opening.content
FROM conversations
LEFT JOIN messages AS opening ON opening.row = (
    SELECT messages.row
    FROM messages
    WHERE conversation_id = conversations.id AND deleted = 0
    ORDER BY timestamp, messages.row
    LIMIT 1
)
WHERE conversations.deleted = 0 AND (conversations.title <> '' OR opening.row IS NOT NULL);
INSERT INTO chat_fts (rowid, title, content)
SELECT 2 * messages.row + 1, NULL, messages.content
FROM messages
JOIN conversations ON conversations.id = messages.conversation_id AND conversations.deleted = 0
WHERE messages.deleted = 0 AND EXISTS (
    SELECT 1
    FROM messages AS earlier
    WHERE earlier.conversation_id = messages.conversation_id AND earlier.deleted = 0
      AND (earlier.timestamp, earlier.row) < (messages.timestamp, messages.row)
);

DROP TABLE character_fts;
CREATE VIRTUAL TABLE character_fts USING fts5 (
    name, tags, description, personality, scenario, system_prompt,
    first_message, message_example, creator_notes,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
CREATE VIRTUAL TABLE character_words USING fts5vocab(character_fts, row);
INSERT INTO character_fts (
    rowid, name, tags, description, personality, scenario, system_prompt, first_message,
    message_example, creator_notes
)
SELECT
    id, name, (SELECT group_concat(value, ' ') FROM json_each(tags)), description, personality,
    scenario, system_prompt, first_message, message_example, creator_notes
FROM character_cards
WHERE deleted = 0;
