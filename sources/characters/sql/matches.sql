-- Characters that match :query.
SELECT rowid AS key, bm25(character_fts, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0) AS bm25
FROM character_fts
WHERE character_fts MATCH :query;
