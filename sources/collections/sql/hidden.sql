-- Chunks that are not in scope, in ascending order.
SELECT id AS key
FROM rag_chunks
WHERE document NOT IN (SELECT id FROM counting)
ORDER BY id;
