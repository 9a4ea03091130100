-- Reads the latest analysis of a document.
SELECT version_number, analysis_content, created_at
FROM DocumentVersions
WHERE media_id = :media_id AND deleted = 0 AND analysis_content <> ''
ORDER BY version_number DESC
LIMIT 1;
