-- Updates a character and restores it if it was deleted.
UPDATE character_cards
SET name = :name, description = :description, personality = :personality, scenario = :scenario,
    system_prompt = :system_prompt, image = COALESCE(:image, image),
    post_history_instructions = :post_history_instructions, first_message = :first_message,
    message_example = :message_example, creator_notes = :creator_notes,
    alternate_greetings = :alternate_greetings, tags = :tags, creator = :creator,
    character_version = :character_version, extensions = :extensions,
    created_at = COALESCE(:created_at, created_at), last_modified = :last_modified,
    version = version + 1, deleted = 0
WHERE id = :id;
