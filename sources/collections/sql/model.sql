-- The model that the vectors are of.
SELECT provider, model, dimensions FROM rag_embedding_model;
