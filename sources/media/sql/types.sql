-- Lists the media types with their numbers of documents.
SELECT type, count(*) AS n
FROM Media
WHERE deleted = 0 AND is_trash = 0
GROUP BY type
ORDER BY type;
