-- Brings a prompt up to date; one that was deleted comes back.
UPDATE Prompts
SET name = :name, author = :author, details = :details, system_prompt = :system_prompt,
    user_prompt = :user_prompt, last_modified = :last_modified, prev_version = version,
    version = version + 1, deleted = 0
WHERE id = :id;
