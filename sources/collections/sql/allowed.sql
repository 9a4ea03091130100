-- Chunks of the documents in scope.
SELECT rag_chunks.id AS key
FROM counting
JOIN rag_chunks ON rag_chunks.document = counting.id;
