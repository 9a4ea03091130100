-- Sets the embedding model of the collection.
INSERT OR REPLACE INTO rag_embedding_model (id, provider, model, dimensions)
VALUES (1, :provider, :model, :dimensions);
