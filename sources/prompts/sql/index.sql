-- Indexes a prompt, replacing its previous entry.
INSERT OR REPLACE INTO prompt_fts (
    rowid, name, details, system_prompt, user_prompt, author, keywords
)
VALUES (:id, :name, :details, :system_prompt, :user_prompt, :author, :keywords);
