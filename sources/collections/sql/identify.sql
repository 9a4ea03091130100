-- Document, index, last modification and, for the first one of a document, title of the matching chunk :key.
SELECT
    rag_documents.doc_id, rag_chunks.chunk_index, rag_documents.updated_at AS last_modified,
    CASE WHEN rag_chunks.chunk_index = 0 THEN rag_documents.title END AS titles
FROM rag_chunks
JOIN rag_documents ON rag_documents.id = rag_chunks.document
WHERE rag_chunks.id = :key;
