-- Notes for :sink in which chunks :phrase stands, from row :first
-- to row :last. Gives no rows.
SELECT rowid
FROM rag_fts_chunks
WHERE rag_fts_chunks MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(rag_fts_chunks, :sink);
