-- How many prompts cannot be found by their words, and how many rows of words are of no prompt.
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
