-- Stores the vector of a chunk.
INSERT OR REPLACE INTO rag_vectors (chunk, input_hash, updated_at, vector)
VALUES (:chunk, :input_hash, :updated_at, :vector);
