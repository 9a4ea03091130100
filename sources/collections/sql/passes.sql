-- Returns a row if the chunk :key is in scope.
SELECT 1
FROM rag_chunks
JOIN counting ON counting.id = rag_chunks.document
WHERE rag_chunks.id = :key;
