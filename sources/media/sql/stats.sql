-- Counts the documents and their stored chunks, and finds the latest change.
SELECT
    count(*) AS items,
    (
        SELECT count(*)
        FROM UnvectorizedMediaChunks
        JOIN Media ON Media.id = UnvectorizedMediaChunks.media_id
        WHERE UnvectorizedMediaChunks.deleted = 0 AND Media.deleted = 0 AND Media.is_trash = 0
    ) AS passages,
    max(last_modified) AS newest
FROM Media
WHERE deleted = 0 AND is_trash = 0;
