-- A document that says exactly this under the same title already.
SELECT id
FROM Media
WHERE content_hash = :content_hash AND title = :title AND deleted = 0
LIMIT 1;
