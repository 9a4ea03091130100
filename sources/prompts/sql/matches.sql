-- Prompts that match :query.
SELECT rowid AS key, bm25(prompt_fts, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0) AS bm25
FROM prompt_fts
WHERE prompt_fts MATCH :query;
