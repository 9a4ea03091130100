-- Counts the passages without an index entry (`missing`) and the index entries without a passage
-- (`stray`).
WITH passages AS MATERIALIZED (
    SELECT key FROM chat_passages
)
SELECT
    (SELECT count(*) FROM passages WHERE key NOT IN (SELECT id FROM chat_fts_docsize)) AS missing,
    (SELECT count(*) FROM chat_fts_docsize WHERE id NOT IN (SELECT key FROM passages)) AS stray;
