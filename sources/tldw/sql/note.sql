-- Reads one note, with its keywords as a JSON list.
SELECT
    title, content, created_at, last_modified,
    (
        SELECT json_group_array(CAST(keywords.keyword AS TEXT))
        FROM note_keywords
        JOIN keywords ON keywords.id = note_keywords.keyword_id
        WHERE note_keywords.note_id = notes.id AND keywords.deleted = 0
    ) AS keywords
FROM notes
WHERE id = :id AND deleted = 0;
