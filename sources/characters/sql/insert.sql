-- Inserts a character, with the id :wanted if it is free.
INSERT INTO character_cards (
    id, name, description, personality, scenario, system_prompt, image, post_history_instructions,
    first_message, message_example, creator_notes, alternate_greetings, tags, creator,
    character_version, extensions, created_at, last_modified
)
VALUES (
    (SELECT :wanted WHERE NOT EXISTS (SELECT 1 FROM character_cards WHERE id = :wanted)),
    :name, :description, :personality, :scenario, :system_prompt, :image,
    :post_history_instructions, :first_message, :message_example, :creator_notes,
    :alternate_greetings, :tags, :creator, :character_version, :extensions, :created_at,
    :last_modified
);
