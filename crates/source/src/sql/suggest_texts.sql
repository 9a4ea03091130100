-- Items whose id starts with :typed, or whose title has words with the prefixes in :words, best
-- first, with the total number.
SELECT id AS value, count(*) OVER () AS total
FROM {table}
WHERE {row} IN (
    SELECT {row} FROM {table} WHERE id >= :typed AND id < :beyond
    UNION
    SELECT {row_of_key} FROM {full_text} WHERE {full_text} MATCH :words
) AND {live}
ORDER BY
    id >= :typed AND id < :beyond DESC,
    substr({title}, 1, length(:typed)) = :typed COLLATE NOCASE DESC,
    last_modified DESC, id
LIMIT :most;
