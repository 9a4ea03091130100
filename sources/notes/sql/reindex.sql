-- Indexes the note :key from its stored columns.
INSERT OR REPLACE INTO note_fts (rowid, title, content, keywords, names, folders)
SELECT
    row, title, content,
    (
        SELECT group_concat(keywords.keyword, ' ')
        FROM note_keywords
        JOIN keywords ON keywords.id = note_keywords.keyword_id
        WHERE note_keywords.note_id = notes.id AND keywords.deleted = 0
    ),
    names, folders
FROM notes
WHERE row = :key;
