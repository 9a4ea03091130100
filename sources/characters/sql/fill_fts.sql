-- Indexes all characters in an empty full-text table.
INSERT INTO character_fts (
    rowid, name, tags, description, personality, scenario, first_message, alternate_greetings,
    system_prompt, post_history_instructions, message_example, character_book, creator_notes
)
SELECT
    id, name, tags, description, personality, scenario, first_message, alternate_greetings,
    system_prompt, post_history_instructions, message_example, character_book, creator_notes
FROM character_texts
ORDER BY id;
