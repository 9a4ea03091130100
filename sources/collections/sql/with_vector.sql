-- The chunks that have a vector.
SELECT chunk FROM rag_vectors;
