-- Indexes the prompt :key from its stored columns.
INSERT OR REPLACE INTO prompt_fts (
    rowid, name, details, system_prompt, user_prompt, author, keywords
)
SELECT
    id, name, details, system_prompt, user_prompt, author,
    (
        SELECT group_concat(PromptKeywordsTable.keyword, ' ')
        FROM PromptKeywordLinks
        JOIN PromptKeywordsTable ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id
        WHERE PromptKeywordLinks.prompt_id = Prompts.id AND PromptKeywordsTable.deleted = 0
    )
FROM Prompts
WHERE id = :key;
