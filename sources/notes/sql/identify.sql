-- Identifier, last modification and names of the matching note :key.
SELECT id, last_modified, title || char(10) || names AS titles
FROM notes
WHERE row = :key;
