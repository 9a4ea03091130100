-- The full-text tables of notes, conversations and characters hold words as
-- the tokenizer `vademecum` reads them; the writer gives it text.

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

-- rowid = 2 * conversations.row for a title, 2 * messages.row + 1 for a message.
DROP TABLE chat_fts;
CREATE VIRTUAL TABLE chat_fts USING fts5 (
    title, content,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
CREATE VIRTUAL TABLE chat_words USING fts5vocab(chat_fts, row);
INSERT INTO chat_fts (rowid, title, content)
SELECT 2 * row, title, NULL
FROM conversations
WHERE deleted = 0;
INSERT INTO chat_fts (rowid, title, content)
SELECT 2 * messages.row + 1, NULL, messages.content
FROM messages
JOIN conversations ON conversations.id = messages.conversation_id AND conversations.deleted = 0
WHERE messages.deleted = 0;

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
