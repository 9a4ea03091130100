-- Records in :sink the positions of :phrase in the chunks with row :first to :last. Returns no
-- rows.
SELECT rowid
FROM rag_fts_chunks
WHERE rag_fts_chunks MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(rag_fts_chunks, :sink);
