-- A row if the vectors are of this model.
SELECT 1
FROM rag_embedding_model
WHERE provider = :provider AND model = :model AND dimensions = :dimensions;
