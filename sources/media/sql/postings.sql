-- Records in :sink the positions of :phrase in the documents with row :first to :last. Returns no
-- rows.
SELECT rowid
FROM media_fts
WHERE media_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(media_fts, :sink);
