-- Tags of the prompts with an identifier in the JSON list :ids, with the number of these prompts.
SELECT PromptKeywordsTable.keyword AS tag, count(*) AS items
FROM json_each(:ids) AS item
CROSS JOIN PromptKeywordLinks ON PromptKeywordLinks.prompt_id = item.value
JOIN PromptKeywordsTable
    ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id AND PromptKeywordsTable.deleted = 0
GROUP BY PromptKeywordsTable.id;
