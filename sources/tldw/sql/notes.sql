-- Lists the notes with a change mark and their sizes in bytes.
SELECT
    notes.id,
    concat_ws('|', notes.version, notes.last_modified, words.mark) AS mark,
    octet_length(notes.content) AS bytes
FROM notes
LEFT JOIN (
    SELECT note_keywords.note_id, group_concat(keywords.keyword, '|') AS mark
    FROM note_keywords
    JOIN keywords ON keywords.id = note_keywords.keyword_id
    WHERE keywords.deleted = 0
    GROUP BY note_keywords.note_id
) AS words ON words.note_id = notes.id
WHERE notes.deleted = 0;
