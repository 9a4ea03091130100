-- Records in :sink the positions of :phrase in the characters with row :first to :last. Returns no
-- rows.
SELECT rowid
FROM character_fts
WHERE character_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(character_fts, :sink);
