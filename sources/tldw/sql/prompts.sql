-- Lists the prompts with a change mark and their sizes in bytes.
SELECT
    Prompts.id,
    concat_ws('|', Prompts.version, Prompts.last_modified, words.mark) AS mark,
    octet_length(concat(details, system_prompt, user_prompt)) AS bytes
FROM Prompts
LEFT JOIN (
    SELECT PromptKeywordLinks.prompt_id, group_concat(PromptKeywordsTable.keyword, '|') AS mark
    FROM PromptKeywordLinks
    JOIN PromptKeywordsTable ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id
    WHERE PromptKeywordsTable.deleted = 0
    GROUP BY PromptKeywordLinks.prompt_id
) AS words ON words.prompt_id = Prompts.id
WHERE Prompts.deleted = 0;
