-- Identifier and last modification of the matching document :key.
SELECT id, last_modified, title AS titles
FROM Media
WHERE id = :key;
