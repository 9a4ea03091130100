-- Removes all keywords from a prompt.
DELETE FROM PromptKeywordLinks WHERE prompt_id = :prompt_id;
