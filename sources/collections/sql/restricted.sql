-- `restricted` is true if some document is hidden even without filters: by a disabled source, a
-- deletion or an access tag.
SELECT
    EXISTS (SELECT 1 FROM rag_sources WHERE enabled = 0)
    OR EXISTS (SELECT 1 FROM rag_documents WHERE deleted = 1)
    OR (:access IS NOT NULL AND EXISTS (SELECT 1 FROM rag_document_access)) AS restricted;
