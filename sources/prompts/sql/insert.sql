-- Adds a prompt.
INSERT INTO Prompts (name, author, details, system_prompt, user_prompt, uuid, last_modified)
VALUES (:name, :author, :details, :system_prompt, :user_prompt, :uuid, :last_modified);
