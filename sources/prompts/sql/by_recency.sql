-- Prompts that match :query, newest first.
WITH matched AS MATERIALIZED (
    SELECT rowid, bm25(prompt_fts, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0) AS bm25
    FROM prompt_fts
    WHERE prompt_fts MATCH :query
)
SELECT
    matched.rowid AS key, Prompts.id, Prompts.last_modified, matched.bm25,
    (SELECT min(bm25) FROM matched) AS best
FROM matched
JOIN Prompts ON Prompts.id = matched.rowid
ORDER BY Prompts.last_modified DESC, CAST(Prompts.id AS TEXT)
LIMIT :take;
