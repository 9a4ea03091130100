-- Tags of the documents with an identifier in the JSON list :ids, with the number of these documents.
SELECT Keywords.keyword AS tag, count(*) AS items
FROM json_each(:ids) AS item
CROSS JOIN MediaKeywords ON MediaKeywords.media_id = item.value
JOIN Keywords ON Keywords.id = MediaKeywords.keyword_id AND Keywords.deleted = 0
GROUP BY Keywords.id;
