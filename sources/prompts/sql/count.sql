-- How many prompts match :query.
SELECT count(*) AS n
FROM prompt_fts
WHERE prompt_fts MATCH :query;
