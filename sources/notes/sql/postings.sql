-- Notes for :sink in which notes :phrase stands. Gives no rows.
SELECT rowid
FROM note_fts
WHERE note_fts MATCH :phrase AND vademecum_postings(note_fts, :sink);
