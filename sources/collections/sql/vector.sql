-- The vector of the chunk :key.
SELECT vector FROM rag_vectors WHERE chunk = :key;
