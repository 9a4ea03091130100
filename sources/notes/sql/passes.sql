-- Returns a row if the note :key is one of :items, has one of :keywords and one of :tags, and was modified from :after
-- to before :before.
SELECT 1
FROM notes
WHERE row = :key
  AND (:items IS NULL OR id IN (SELECT value FROM json_each(:items)))
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
            AND EXISTS (
                SELECT 1
                FROM json_each(:tags) AS wanted
                WHERE keywords.keyword = wanted.value COLLATE NOCASE
                   OR substr(keywords.keyword, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
            )
      )
  );
