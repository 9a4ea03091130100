-- Adds alternate greetings, post-history instructions and the lorebook to the index of characters.

-- The text of each field of a character, as it is shown and indexed. A change of this view requires
-- a rebuild of `character_fts`.
CREATE VIEW character_texts AS
SELECT
    id, name,
    (
        SELECT group_concat(tag.value, ' ' ORDER BY tag.key)
        FROM json_each(CASE WHEN json_valid(cards.tags) THEN cards.tags END) AS tag
        WHERE tag.type = 'text'
    ) AS tags,
    description, personality, scenario, first_message,
    (
        SELECT group_concat(greeting.value, char(10, 10) ORDER BY greeting.key)
        FROM json_each(
            CASE WHEN json_valid(cards.alternate_greetings) THEN cards.alternate_greetings END
        ) AS greeting
        WHERE greeting.type = 'text'
    ) AS alternate_greetings,
    system_prompt, post_history_instructions, message_example,
    (
        -- Each lorebook entry with its name, comment and trigger keys above the content.
        SELECT group_concat(
            concat_ws(
                char(10),
                nullif(entry.value ->> '$.name', ''),
                nullif(nullif(entry.value ->> '$.comment', ''), entry.value ->> '$.name'),
                (
                    SELECT group_concat(word.value, ', ')
                    FROM (
                        SELECT value FROM json_each(entry.value, '$.keys') WHERE type = 'text'
                        UNION ALL
                        SELECT value FROM json_each(entry.value, '$.secondary_keys')
                        WHERE type = 'text'
                    ) AS word
                ),
                nullif(entry.value ->> '$.content', '')
            ),
            char(10, 10) ORDER BY entry.id
        )
        FROM json_each(
            CASE WHEN json_valid(cards.extensions) THEN cards.extensions END,
            '$.character_book.entries'
        ) AS entry
        WHERE entry.type = 'object'
    ) AS character_book,
    creator_notes
FROM character_cards AS cards
WHERE deleted = 0;

DROP TABLE character_words;
DROP TABLE character_fts;
CREATE VIRTUAL TABLE character_fts USING fts5 (
    name, tags, description, personality, scenario, first_message, alternate_greetings,
    system_prompt, post_history_instructions, message_example, character_book, creator_notes,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
CREATE VIRTUAL TABLE character_words USING fts5vocab(character_fts, row);
INSERT INTO character_fts (
    rowid, name, tags, description, personality, scenario, first_message, alternate_greetings,
    system_prompt, post_history_instructions, message_example, character_book, creator_notes
)
SELECT
    id, name, tags, description, personality, scenario, first_message, alternate_greetings,
    system_prompt, post_history_instructions, message_example, character_book, creator_notes
FROM character_texts;
