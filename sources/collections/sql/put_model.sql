-- Says of which model the vectors are.
INSERT OR REPLACE INTO rag_embedding_model (id, provider, model, dimensions)
VALUES (1, :provider, :model, :dimensions);
