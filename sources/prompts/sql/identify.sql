-- Identifier and last modification of the matching prompt :key.
SELECT id, last_modified
FROM Prompts
WHERE id = :key;
