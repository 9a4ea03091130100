-- Notes for :sink in which characters :phrase stands, from row :first
-- to row :last. Gives no rows.
SELECT rowid
FROM character_fts
WHERE character_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(character_fts, :sink);
