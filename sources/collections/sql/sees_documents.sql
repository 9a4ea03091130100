-- Returns whether there are documents, and whether any is in scope.
SELECT
    EXISTS (SELECT 1 FROM rag_documents WHERE deleted = 0) AS has_documents,
    EXISTS (SELECT 1 FROM counting) AS sees_documents;
