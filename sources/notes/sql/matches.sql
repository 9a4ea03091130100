-- Notes that match :query and have one of :keywords.
SELECT rowid AS key, bm25(note_fts, 2.0, 1.0, 1.0) AS bm25
FROM note_fts
WHERE note_fts MATCH :query
  AND (:keywords IS NULL OR EXISTS (
      SELECT 1
      FROM notes
      JOIN note_keywords ON note_keywords.note_id = notes.id
      JOIN keywords ON keywords.id = note_keywords.keyword_id
      WHERE notes.row = note_fts.rowid
        AND keywords.deleted = 0
        AND keywords.keyword COLLATE NOCASE IN (SELECT value FROM json_each(:keywords))
  ));
