-- Reads the import records of all files.
SELECT
    path, asked, root, source, format, size, modified, digest, outcome, items, problems, read_at,
    generation
FROM files
ORDER BY path, asked;
