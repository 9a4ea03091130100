-- Returns a row if the note :key has one of :keywords and one of :tags, and was modified from :after
-- to before :before.
SELECT 1
FROM notes
WHERE row = :key
  AND (:after IS NULL OR last_modified >= :after)
  AND (:before IS NULL OR last_modified < :before)
  AND (
      :keywords IS NULL
      OR EXISTS (
          SELECT 1
          FROM note_keywords
          JOIN keywords ON keywords.id = note_keywords.keyword_id
          WHERE note_keywords.note_id = notes.id
            AND keywords.deleted = 0
            AND keywords.keyword COLLATE NOCASE IN (SELECT value FROM json_each(:keywords))
      )
  )
  AND (
      :tags IS NULL
      OR EXISTS (
          SELECT 1
          FROM note_keywords
          JOIN keywords ON keywords.id = note_keywords.keyword_id
          WHERE note_keywords.note_id = notes.id
            AND keywords.deleted = 0
            AND keywords.keyword COLLATE NOCASE IN (SELECT value FROM json_each(:tags))
      )
  );
