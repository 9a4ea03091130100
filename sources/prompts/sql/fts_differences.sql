-- Counts the prompts without an index entry (`missing`) and the index entries without a prompt
-- (`stray`).
SELECT
    (
        SELECT count(*)
        FROM Prompts
        WHERE deleted = 0 AND id NOT IN (SELECT id FROM prompt_fts_docsize)
    ) AS missing,
    (
        SELECT count(*)
        FROM prompt_fts_docsize
        WHERE id NOT IN (SELECT id FROM Prompts WHERE deleted = 0)
    ) AS stray;
