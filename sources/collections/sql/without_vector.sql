-- Up to :most chunks without a vector from row :from on, with the texts to embed.
SELECT
    rag_chunks.id, rag_documents.title, rag_chunks.section, rag_chunks.start_char,
    rag_chunks.end_char, rag_chunks.body,
    CASE WHEN rag_chunks.body = '' THEN rag_documents.body ELSE '' END AS document_body
FROM rag_chunks
JOIN rag_documents ON rag_documents.id = rag_chunks.document
WHERE rag_chunks.id >= :from
  AND NOT EXISTS (SELECT 1 FROM rag_vectors WHERE rag_vectors.chunk = rag_chunks.id)
ORDER BY rag_chunks.id
LIMIT :most;
