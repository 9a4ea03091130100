-- Reads one note by row or by id, with its keywords as a JSON list.
SELECT
    row, id, title, content, names, folders, created_at, last_modified, version,
    (
        SELECT json_group_array(keyword)
        FROM (
            SELECT keywords.keyword
            FROM note_keywords
            JOIN keywords ON keywords.id = note_keywords.keyword_id
            WHERE note_keywords.note_id = notes.id AND keywords.deleted = 0
            ORDER BY keywords.keyword
        )
    ) AS tags
FROM notes
WHERE row = COALESCE(:row, (SELECT row FROM notes WHERE id = :id)) AND deleted = 0;
