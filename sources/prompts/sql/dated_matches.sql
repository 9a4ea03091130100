-- Prompts that match :query, and when they last changed.
SELECT prompt_fts.rowid AS key, bm25(prompt_fts, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0) AS bm25, Prompts.last_modified
FROM prompt_fts
JOIN Prompts ON Prompts.id = prompt_fts.rowid
WHERE prompt_fts MATCH :query;
