-- What the match :key is.
SELECT id, last_modified
FROM Media
WHERE id = :key;
