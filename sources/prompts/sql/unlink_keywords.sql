-- Takes all keywords off a prompt.
DELETE FROM PromptKeywordLinks WHERE prompt_id = :prompt_id;
