-- How many notes cannot be found by their words, and how many rows of words are of no note.
SELECT
    (
        SELECT count(*)
        FROM notes
        WHERE deleted = 0 AND row NOT IN (SELECT id FROM note_fts_docsize)
    ) AS missing,
    (
        SELECT count(*)
        FROM note_fts_docsize
        WHERE id NOT IN (SELECT row FROM notes WHERE deleted = 0)
    ) AS stray;
