-- Reads the latest analysis of a document.
SELECT analysis_content
FROM DocumentVersions
WHERE media_id = :id AND deleted = 0 AND analysis_content <> ''
ORDER BY version_number DESC
LIMIT 1;
