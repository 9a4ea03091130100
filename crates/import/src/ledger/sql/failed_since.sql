-- Reads the import records of at most :most files that were read since :began_at and failed, newest first.
SELECT
    path, asked, root, source, format, size, modified, digest, outcome, items, problems, read_at,
    generation,
    0 AS read_pages
FROM files
WHERE outcome = 'skipped' AND read_at >= :began_at
ORDER BY read_at DESC, path, asked
LIMIT :most;
