-- Counts the notes without an index entry (`missing`) and the index entries without a note
-- (`stray`).
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
