-- Rewrites the view `character_texts` in the SQL of SQLite 3.37. ORDER BY in an aggregate (3.44)
-- is a syntax error in earlier versions, which then refuse the whole file. The texts are the same,
-- so the index of characters stays valid.

DROP VIEW character_texts;

-- The text of each field of a character, as it is shown and indexed. A change of these texts
-- requires a rebuild of `character_fts`.
CREATE VIEW character_texts AS
SELECT
    id, name,
    (
        SELECT group_concat(tag.value, ' ')
        FROM (
            SELECT value
            FROM json_each(CASE WHEN json_valid(cards.tags) THEN cards.tags END)
            WHERE type = 'text'
            ORDER BY key
        ) AS tag
    ) AS tags,
    description, personality, scenario, first_message,
    (
        SELECT group_concat(greeting.value, char(10, 10))
        FROM (
            SELECT value
            FROM json_each(
                CASE WHEN json_valid(cards.alternate_greetings) THEN cards.alternate_greetings END
            )
            WHERE type = 'text'
            ORDER BY key
        ) AS greeting
    ) AS alternate_greetings,
    system_prompt, post_history_instructions, message_example,
    (
        -- Each lorebook entry with its name, comment and trigger keys above the content.
        SELECT group_concat(
            coalesce(
                (
                    SELECT group_concat(part.value, char(10))
                    FROM (
                        SELECT nullif(json_extract(entry.value, '$.name'), '') AS value
                        UNION ALL
                        SELECT nullif(
                            nullif(json_extract(entry.value, '$.comment'), ''),
                            json_extract(entry.value, '$.name')
                        )
                        UNION ALL
                        SELECT group_concat(word.value, ', ')
                        FROM (
                            SELECT value FROM json_each(entry.value, '$.keys') WHERE type = 'text'
                            UNION ALL
                            SELECT value
                            FROM json_each(entry.value, '$.secondary_keys')
                            WHERE type = 'text'
                        ) AS word
                        UNION ALL
                        SELECT nullif(json_extract(entry.value, '$.content'), '')
                    ) AS part
                ),
                ''
            ),
            char(10, 10)
        )
        FROM (
            SELECT value
            FROM json_each(
                CASE WHEN json_valid(cards.extensions) THEN cards.extensions END,
                '$.character_book.entries'
            )
            WHERE type = 'object'
            ORDER BY id
        ) AS entry
    ) AS character_book,
    creator_notes
FROM character_cards AS cards
WHERE deleted = 0;
