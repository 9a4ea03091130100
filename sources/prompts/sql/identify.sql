-- What the match :key is.
SELECT id, last_modified
FROM Prompts
WHERE id = :key;
