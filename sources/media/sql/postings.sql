-- Notes for :sink in which documents :phrase stands, from row :first
-- to row :last. Gives no rows.
SELECT rowid
FROM media_fts
WHERE media_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(media_fts, :sink);
