-- Conversations whose id starts with :typed, or whose title has words with the prefixes in :words,
-- best first, with the total number.
SELECT id AS value, count(*) OVER () AS total
FROM conversations
WHERE row IN (
    SELECT row FROM conversations WHERE id >= :typed AND id < :beyond
    UNION
    SELECT rowid / 2 FROM chat_fts WHERE chat_fts MATCH :words
) AND deleted = 0
ORDER BY
    id >= :typed AND id < :beyond DESC,
    substr(title, 1, length(:typed)) = :typed COLLATE NOCASE DESC,
    last_modified DESC, id
LIMIT :most;
