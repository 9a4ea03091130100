-- Reads a chunk with the metadata of its document, if it is in scope: by its row :key, or else by
-- :doc_id and :chunk_index.
SELECT
    rag_chunks.id, rag_chunks.chunk_index, rag_chunks.section, rag_chunks.start_char,
    rag_chunks.end_char, rag_chunks.metadata_json AS chunk_metadata, rag_chunks.body,
    CASE WHEN rag_chunks.body = '' THEN counting.body ELSE '' END AS document_body,
    counting.doc_id, counting.source_id, counting.source_name, counting.pk_json, counting.title,
    counting.metadata_json AS document_metadata, counting.file_name, counting.file_type,
    counting.url, counting.project_name, counting.project_version, counting.created_at,
    counting.updated_at
FROM rag_chunks
JOIN counting ON counting.id = rag_chunks.document
WHERE rag_chunks.id = coalesce(
    :key,
    (
        SELECT rag_chunks.id
        FROM rag_documents
        JOIN rag_chunks ON rag_chunks.document = rag_documents.id
        WHERE rag_documents.doc_id = :doc_id AND rag_chunks.chunk_index = :chunk_index
    )
);
