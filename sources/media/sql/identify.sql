-- Identifier and last modification of the matching document :key.
SELECT id, last_modified
FROM Media
WHERE id = :key;
