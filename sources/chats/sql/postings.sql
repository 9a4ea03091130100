-- Records in :sink the positions of :phrase in the passages with row :first to :last. Returns no
-- rows.
SELECT rowid
FROM chat_fts
WHERE chat_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(chat_fts, :sink);
