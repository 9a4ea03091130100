-- Identifier and last modification of the matching prompt :key.
SELECT id, last_modified, name AS titles
FROM Prompts
WHERE id = :key;
