-- What the match :key is.
SELECT id, last_modified
FROM notes
WHERE row = :key;
