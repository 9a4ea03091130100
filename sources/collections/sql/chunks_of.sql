-- The chunks of a document, in order.
SELECT id FROM rag_chunks WHERE document = :document ORDER BY chunk_index;
