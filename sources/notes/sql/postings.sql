-- Records in :sink the positions of :phrase in the notes with row :first to :last. Returns no rows.
SELECT rowid
FROM note_fts
WHERE note_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(note_fts, :sink);
