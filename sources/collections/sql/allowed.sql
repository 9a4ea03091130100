-- The chunks of documents that count.
SELECT rag_chunks.id
FROM counting
JOIN rag_chunks ON rag_chunks.document = counting.id;
