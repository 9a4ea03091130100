-- Counts the documents, chunks and vectors of each source. Subqueries keep the counts independent,
-- because joins would multiply them.
SELECT
    rag_sources.source_id, rag_sources.name,
    (
        SELECT count(*)
        FROM rag_documents
        WHERE rag_documents.source_id = rag_sources.source_id AND deleted = 0
    ) AS documents,
    (
        SELECT count(*)
        FROM rag_documents
        JOIN rag_chunks ON rag_chunks.document = rag_documents.id
        WHERE rag_documents.source_id = rag_sources.source_id AND deleted = 0
    ) AS chunks,
    (
        SELECT count(*)
        FROM rag_documents
        JOIN rag_chunks ON rag_chunks.document = rag_documents.id
        JOIN rag_vectors ON rag_vectors.chunk = rag_chunks.id
        WHERE rag_documents.source_id = rag_sources.source_id AND deleted = 0
    ) AS vectors,
    rag_sync_state.last_ok_at, rag_sync_state.last_error
FROM rag_sources
LEFT JOIN rag_sync_state ON rag_sync_state.source_id = rag_sources.source_id
ORDER BY rag_sources.source_id;
