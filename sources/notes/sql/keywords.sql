-- Keywords of notes that start with :typed, most used first, with the total number.
SELECT keywords.keyword AS value, count(*) OVER () AS total
FROM keywords
JOIN note_keywords ON note_keywords.keyword_id = keywords.id
JOIN notes ON notes.id = note_keywords.note_id AND notes.deleted = 0
WHERE keywords.deleted = 0 AND keywords.keyword >= :typed AND keywords.keyword < :beyond
GROUP BY keywords.id
ORDER BY count(*) DESC, keywords.keyword
LIMIT :most;
