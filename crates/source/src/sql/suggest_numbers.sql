-- Items whose id starts with :typed, or whose title has words with the prefixes in :words, best
-- first, with the total number. For numeric ids the prefix 4 selects 4, 40 to 49, 400 to 499 and so
-- on.
WITH RECURSIVE begun (first, last) AS (
    VALUES (:first, :last)
    UNION ALL
    SELECT first * 10, last * 10 + 9 FROM begun WHERE last < 100000000000000000
)
SELECT CAST(id AS TEXT) AS value, count(*) OVER () AS total
FROM {table}
WHERE id IN (
    SELECT known.id FROM begun JOIN {table} AS known ON known.id BETWEEN begun.first AND begun.last
    UNION
    SELECT rowid FROM {full_text} WHERE {full_text} MATCH :words
) AND {live}
ORDER BY
    substr(id, 1, length(:typed)) = :typed DESC,
    substr({title}, 1, length(:typed)) = :typed COLLATE NOCASE DESC,
    last_modified DESC, id
LIMIT :most;
