-- Reads one character without its image: its columns, and the indexed texts of its lists and
-- lorebook.
SELECT
    cards.id, cards.name, cards.description, cards.personality, cards.scenario,
    cards.system_prompt, cards.post_history_instructions, cards.first_message,
    cards.message_example, cards.creator_notes, cards.alternate_greetings, cards.tags,
    cards.creator, cards.character_version, cards.extensions,
    cards.image IS NOT NULL AS has_image, cards.created_at, cards.last_modified, cards.version,
    texts.alternate_greetings AS greetings_text, texts.character_book
FROM character_cards AS cards
JOIN character_texts AS texts ON texts.id = cards.id
WHERE cards.id = :id;
