-- Makes all characters findable by their words, in a table that is empty.
INSERT INTO character_fts (
    rowid, name, tags, description, personality, scenario, first_message, alternate_greetings,
    system_prompt, post_history_instructions, message_example, character_book, creator_notes
)
SELECT
    id, name, tags, description, personality, scenario, first_message, alternate_greetings,
    system_prompt, post_history_instructions, message_example, character_book, creator_notes
FROM character_texts
ORDER BY id;
