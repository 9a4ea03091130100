-- Reads the import records of all files.
SELECT
    path, asked, root, source, format, size, modified, digest, outcome, items, problems, read_at,
    generation,
    (
        SELECT read_pages
        FROM partial_documents
        WHERE partial_documents.path = files.path AND partial_documents.asked = files.asked
    ) AS read_pages
FROM files
ORDER BY path, asked;
