-- Document, index and last modification of the matching chunk :key.
SELECT
    rag_documents.doc_id, rag_chunks.chunk_index, rag_documents.updated_at AS last_modified
FROM rag_chunks
JOIN rag_documents ON rag_documents.id = rag_chunks.document
WHERE rag_chunks.id = :key;
