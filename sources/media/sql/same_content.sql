-- Finds a document with the same content hash and title.
SELECT id
FROM Media
WHERE content_hash = :content_hash AND title = :title AND deleted = 0
LIMIT 1;
