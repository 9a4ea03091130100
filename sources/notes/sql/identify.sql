-- Identifier and last modification of the matching note :key.
SELECT id, last_modified
FROM notes
WHERE row = :key;
