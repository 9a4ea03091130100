-- Characters that match :query, and when they last changed.
SELECT character_fts.rowid AS key, bm25(character_fts, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0) AS bm25, character_cards.last_modified
FROM character_fts
JOIN character_cards ON character_cards.id = character_fts.rowid
WHERE character_fts MATCH :query;
