-- One character, without its picture.
SELECT
    id, name, description, personality, scenario, system_prompt, post_history_instructions,
    first_message, message_example, creator_notes, alternate_greetings, tags, creator,
    character_version, extensions, image IS NOT NULL AS has_image, created_at, last_modified,
    version
FROM character_cards
WHERE id = :id AND deleted = 0;
