-- Prompts that match :query, best first.
-- Ranks first; reads identifiers only for the rows it keeps.
WITH best AS (
    SELECT rowid, bm25(prompt_fts, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0) AS bm25
    FROM prompt_fts
    WHERE prompt_fts MATCH :query
    ORDER BY bm25
    LIMIT :take
)
SELECT best.rowid AS key, Prompts.id, Prompts.last_modified, best.bm25
FROM best
JOIN Prompts ON Prompts.id = best.rowid
ORDER BY best.bm25;
