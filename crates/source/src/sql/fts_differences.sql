-- Counts the items without an index entry (`missing`) and the index entries without an item
-- (`stray`).
SELECT
    (
        SELECT count(*)
        FROM {table}
        WHERE {live} AND {row} NOT IN (SELECT id FROM {full_text}_docsize)
    ) AS missing,
    (
        SELECT count(*)
        FROM {full_text}_docsize
        WHERE id NOT IN (SELECT {row} FROM {table} WHERE {live})
    ) AS stray;
