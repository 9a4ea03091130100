-- Characters that match :query, best first.
-- Ranks first; reads identifiers only for the rows it keeps.
WITH best AS (
    SELECT rowid, bm25(character_fts, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0) AS bm25
    FROM character_fts
    WHERE character_fts MATCH :query
    ORDER BY bm25
    LIMIT :take
)
SELECT best.rowid AS key, character_cards.id, character_cards.last_modified, best.bm25
FROM best
JOIN character_cards ON character_cards.id = best.rowid
ORDER BY best.bm25;
