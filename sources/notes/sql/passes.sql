-- Returns a row if the note :key has one of :keywords.
SELECT 1
FROM notes
JOIN note_keywords ON note_keywords.note_id = notes.id
JOIN keywords ON keywords.id = note_keywords.keyword_id
WHERE notes.row = :key
  AND keywords.deleted = 0
  AND keywords.keyword COLLATE NOCASE IN (SELECT value FROM json_each(:keywords));
