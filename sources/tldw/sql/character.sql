-- Reads one character.
SELECT
    name, description, personality, scenario, system_prompt, image, post_history_instructions,
    first_message, message_example, creator_notes, alternate_greetings, tags, creator,
    character_version, extensions, created_at, last_modified
FROM character_cards
WHERE id = :id AND deleted = 0;
