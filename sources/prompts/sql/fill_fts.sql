-- Indexes all prompts in an empty full-text table.
INSERT INTO prompt_fts (rowid, name, details, system_prompt, user_prompt, author, keywords)
SELECT
    id, name, details, system_prompt, user_prompt, author,
    (
        SELECT group_concat(PromptKeywordsTable.keyword, ' ')
        FROM PromptKeywordLinks
        JOIN PromptKeywordsTable ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id
        WHERE PromptKeywordLinks.prompt_id = Prompts.id AND PromptKeywordsTable.deleted = 0
    )
FROM Prompts
WHERE deleted = 0
ORDER BY id;
