-- The chunks of the document :doc_id, in order, with the headings above them.
SELECT rag_chunks.id, rag_chunks.chunk_index, rag_chunks.section
FROM rag_documents
JOIN rag_chunks ON rag_chunks.document = rag_documents.id
WHERE rag_documents.doc_id = :doc_id
ORDER BY rag_chunks.chunk_index;
