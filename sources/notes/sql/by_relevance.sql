-- Notes that match :query and have one of :keywords, best first.
-- Ranks first; reads identifiers only for the rows it keeps.
WITH best AS (
    SELECT rowid, bm25(note_fts, 2.0, 1.0, 1.0) AS bm25
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
      ))
    ORDER BY bm25
    LIMIT :take
)
SELECT best.rowid AS key, notes.id, notes.last_modified, best.bm25
FROM best
JOIN notes ON notes.row = best.rowid
ORDER BY best.bm25;
