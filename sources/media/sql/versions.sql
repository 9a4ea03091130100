-- Lists all documents with a stamp that changes whenever the document changes.
SELECT id AS key, CAST(id AS TEXT) AS id, version || ' ' || content_hash AS stamp
FROM Media
WHERE deleted = 0 AND is_trash = 0;
