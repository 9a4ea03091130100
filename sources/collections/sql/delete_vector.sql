-- Deletes the vector of a chunk.
DELETE FROM rag_vectors WHERE chunk = :chunk;
