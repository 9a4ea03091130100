-- Counts the documents in scope and their chunks, for each source that has any.
SELECT
    source_id, count(*) AS documents,
    sum((SELECT count(*) FROM rag_chunks WHERE document = counting.id)) AS chunks
FROM counting
GROUP BY source_id;
