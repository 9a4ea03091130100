-- Indexes the character :key from its stored fields.
INSERT OR REPLACE INTO character_fts (
    rowid, name, tags, description, personality, scenario, first_message, alternate_greetings,
    system_prompt, post_history_instructions, message_example, character_book, creator_notes
)
SELECT
    id, name, tags, description, personality, scenario, first_message, alternate_greetings,
    system_prompt, post_history_instructions, message_example, character_book, creator_notes
FROM character_texts
WHERE id = :key;
