-- Lists the prompts with a change mark and their sizes in bytes.
SELECT
    Prompts.id,
    concat_ws('|', Prompts.version, Prompts.last_modified, words.mark) AS mark,
    COALESCE(octet_length(details), 0) + COALESCE(octet_length(system_prompt), 0)
    + COALESCE(octet_length(user_prompt), 0) AS bytes
FROM Prompts
LEFT JOIN (
    SELECT PromptKeywordLinks.prompt_id, group_concat(PromptKeywordsTable.keyword, '|') AS mark
    FROM PromptKeywordLinks
    JOIN PromptKeywordsTable ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id
    WHERE PromptKeywordsTable.deleted = 0
    GROUP BY PromptKeywordLinks.prompt_id
) AS words ON words.prompt_id = Prompts.id
WHERE Prompts.deleted = 0;
