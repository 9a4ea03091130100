-- Reads one prompt by id or by name, with its keywords as a JSON list.
SELECT
    id, name, author, details, system_prompt, user_prompt, last_modified, version,
    (
        SELECT json_group_array(keyword)
        FROM (
            SELECT PromptKeywordsTable.keyword
            FROM PromptKeywordLinks
            JOIN PromptKeywordsTable ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id
            WHERE PromptKeywordLinks.prompt_id = Prompts.id AND PromptKeywordsTable.deleted = 0
            ORDER BY PromptKeywordsTable.keyword
        )
    ) AS keywords
FROM Prompts
WHERE id = COALESCE(:id, (SELECT id FROM Prompts WHERE name = :name)) AND deleted = 0;
