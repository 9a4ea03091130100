-- Counts the documents and their stored chunks, and finds the latest change.
SELECT
    count(*) AS items,
    (
        SELECT count(*)
        FROM DocumentChunks
        JOIN Media ON Media.id = DocumentChunks.media_id
        WHERE DocumentChunks.deleted = 0 AND Media.deleted = 0 AND Media.is_trash = 0
    ) AS passages,
    max(last_modified) AS newest
FROM Media
WHERE deleted = 0 AND is_trash = 0;
