-- Tags of the notes with an identifier in the JSON list :ids, with the number of these notes.
SELECT keywords.keyword AS tag, count(*) AS items
FROM json_each(:ids) AS item
CROSS JOIN note_keywords ON note_keywords.note_id = item.value
JOIN keywords ON keywords.id = note_keywords.keyword_id AND keywords.deleted = 0
GROUP BY keywords.id;
