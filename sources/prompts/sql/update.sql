-- Updates a prompt and restores it if it was deleted.
UPDATE Prompts
SET name = :name, author = :author, details = :details, system_prompt = :system_prompt,
    user_prompt = :user_prompt, last_modified = :last_modified, prev_version = version,
    version = version + 1, deleted = 0
WHERE id = :id;
