-- Characters that match :query, newest first.
WITH matched AS MATERIALIZED (
    SELECT rowid, bm25(character_fts, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0) AS bm25
    FROM character_fts
    WHERE character_fts MATCH :query
)
SELECT
    matched.rowid AS key, character_cards.id, character_cards.last_modified, matched.bm25,
    (SELECT min(bm25) FROM matched) AS best
FROM matched
JOIN character_cards ON character_cards.id = matched.rowid
ORDER BY character_cards.last_modified DESC, CAST(character_cards.id AS TEXT)
LIMIT :take;
