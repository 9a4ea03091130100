-- A row if the document of the chunk :key counts.
SELECT 1
FROM rag_chunks
JOIN counting ON counting.id = rag_chunks.document
WHERE rag_chunks.id = :key;
