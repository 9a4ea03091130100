-- Reads all prompts with a non-blank system or user prompt: those with the keyword `command` first,
-- then those that were changed last.
SELECT name, details, system_prompt, user_prompt
FROM Prompts
WHERE deleted = 0 AND (trim(system_prompt) <> '' OR trim(user_prompt) <> '')
ORDER BY
    EXISTS (
        SELECT 1
        FROM PromptKeywordLinks
        JOIN PromptKeywordsTable ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id
        WHERE PromptKeywordLinks.prompt_id = Prompts.id
            AND PromptKeywordsTable.deleted = 0
            AND PromptKeywordsTable.keyword = 'command'
    ) DESC,
    last_modified DESC,
    name COLLATE NOCASE,
    name;
