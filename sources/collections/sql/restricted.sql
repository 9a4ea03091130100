-- Whether there is anything that not everybody may see or find, as `restricted`.
SELECT
    EXISTS (SELECT 1 FROM rag_sources WHERE enabled = 0)
    OR EXISTS (SELECT 1 FROM rag_documents WHERE deleted = 1)
    OR (:access IS NOT NULL AND EXISTS (SELECT 1 FROM rag_document_access)) AS restricted;
