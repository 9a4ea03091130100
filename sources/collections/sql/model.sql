-- Reads the embedding model of the collection.
SELECT provider, model, dimensions FROM rag_embedding_model;
