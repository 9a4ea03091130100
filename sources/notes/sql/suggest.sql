-- Notes whose id starts with :typed, or whose title has words with the prefixes in :words, best
-- first, with the total number.
SELECT id AS value, count(*) OVER () AS total
FROM notes
WHERE row IN (
    SELECT row FROM notes WHERE id >= :typed AND id < :beyond
    UNION
    SELECT rowid FROM note_fts WHERE note_fts MATCH :words
) AND deleted = 0
ORDER BY
    id >= :typed AND id < :beyond DESC,
    substr(title, 1, length(:typed)) = :typed COLLATE NOCASE DESC,
    last_modified DESC, id
LIMIT :most;
