-- Makes the character :id findable by the words that it has now.
INSERT OR REPLACE INTO character_fts (
    rowid, name, tags, description, personality, scenario, system_prompt, first_message,
    message_example, creator_notes
)
SELECT
    id, name, (SELECT group_concat(value, ' ') FROM json_each(tags)), description, personality,
    scenario, system_prompt, first_message, message_example, creator_notes
FROM character_cards
WHERE id = :id;
