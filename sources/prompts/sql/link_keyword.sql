-- Assigns a keyword to a prompt.
INSERT OR IGNORE INTO PromptKeywordLinks (prompt_id, keyword_id)
SELECT :prompt_id, id FROM PromptKeywordsTable WHERE keyword = :keyword;
