-- Reads the import records of the file :path, or of the files in the folder :path.
SELECT
    path, asked, root, source, format, size, modified, digest, outcome, items, problems, read_at,
    generation
FROM files
WHERE path = :path OR path BETWEEN :first AND :last
ORDER BY path, asked;
