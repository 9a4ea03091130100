-- Notes for :sink in which notes :phrase stands, from row :first
-- to row :last. Gives no rows.
SELECT rowid
FROM note_fts
WHERE note_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(note_fts, :sink);
