-- Returns a row if some prompt has a tag.
SELECT 1 FROM PromptKeywordLinks LIMIT 1;
