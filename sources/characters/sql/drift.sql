-- How many characters cannot be found by their words, and how many rows of words are of no
-- character.
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
