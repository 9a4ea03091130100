-- Counts the documents without an index entry (`missing`) and the index entries without a document
-- (`stray`).
SELECT
    (
        SELECT count(*)
        FROM Media
        WHERE deleted = 0 AND is_trash = 0 AND id NOT IN (SELECT id FROM media_fts_docsize)
    ) AS missing,
    (
        SELECT count(*)
        FROM media_fts_docsize
        WHERE id NOT IN (SELECT id FROM Media WHERE deleted = 0 AND is_trash = 0)
    ) AS stray;
