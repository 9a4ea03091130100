-- Returns a row if this is the embedding model of the collection.
SELECT 1
FROM rag_embedding_model
WHERE provider = :provider AND model = :model AND dimensions = :dimensions;
