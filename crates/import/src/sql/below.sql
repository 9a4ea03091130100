-- The file or the files of a folder :path, with what became of them.
SELECT
    path, asked, root, source, format, size, modified, digest, outcome, items, problems, read_at,
    generation
FROM files
WHERE path = :path OR path BETWEEN :first AND :last
ORDER BY path, asked;
