-- Notes for :sink in which characters :phrase stands. Gives no rows.
SELECT rowid
FROM character_fts
WHERE character_fts MATCH :phrase AND vademecum_postings(character_fts, :sink);
