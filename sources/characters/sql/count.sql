-- How many characters match :query.
SELECT count(*) AS n
FROM character_fts
WHERE character_fts MATCH :query;
