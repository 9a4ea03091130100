-- Reads one prompt, with its keywords as a JSON list.
SELECT
    name, author, details, system_prompt, user_prompt, last_modified,
    (
        SELECT json_group_array(CAST(PromptKeywordsTable.keyword AS TEXT))
        FROM PromptKeywordLinks
        JOIN PromptKeywordsTable ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id
        WHERE PromptKeywordLinks.prompt_id = Prompts.id AND PromptKeywordsTable.deleted = 0
    ) AS keywords
FROM Prompts
WHERE id = :id AND deleted = 0;
