-- Makes a character findable by its words.
INSERT OR REPLACE INTO character_fts (
    rowid, name, tags, description, personality, scenario, system_prompt, first_message,
    message_example, creator_notes
)
VALUES (
    :id, :name, :tags, :description, :personality, :scenario, :system_prompt, :first_message,
    :message_example, :creator_notes
);
