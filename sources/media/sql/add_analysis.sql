-- Stores the analysis of a document, which was made by another program.
INSERT INTO DocumentVersions (
    media_id, version_number, analysis_content, content, created_at, uuid, last_modified
)
VALUES (:media_id, 1, :analysis, '', :now, :uuid, :now);
