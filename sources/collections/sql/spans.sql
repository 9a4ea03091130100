-- Positions of the chunks of the document :doc_id in its body, in order.
SELECT rag_chunks.chunk_index, rag_chunks.start_char, rag_chunks.end_char
FROM rag_documents
JOIN rag_chunks ON rag_chunks.document = rag_documents.id
WHERE rag_documents.doc_id = :doc_id
ORDER BY rag_chunks.chunk_index;
