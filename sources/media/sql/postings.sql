-- Notes for :sink in which documents :phrase stands. Gives no rows.
SELECT rowid
FROM media_fts
WHERE media_fts MATCH :phrase AND vademecum_postings(media_fts, :sink);
