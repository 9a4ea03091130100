-- Counts the characters without an index entry (`missing`) and the index entries without a
-- character (`stray`).
SELECT
    (
        SELECT count(*)
        FROM character_cards
        WHERE deleted = 0 AND id NOT IN (SELECT id FROM character_fts_docsize)
    ) AS missing,
    (
        SELECT count(*)
        FROM character_fts_docsize
        WHERE id NOT IN (SELECT id FROM character_cards WHERE deleted = 0)
    ) AS stray;
