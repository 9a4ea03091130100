-- Inserts a prompt, with the id :wanted if it is free.
INSERT INTO Prompts (id, name, author, details, system_prompt, user_prompt, uuid, last_modified)
VALUES (
    (SELECT :wanted WHERE NOT EXISTS (SELECT 1 FROM Prompts WHERE id = :wanted)),
    :name, :author, :details, :system_prompt, :user_prompt, :uuid, :last_modified
);
