-- The vector of an input, and when it was used.
SELECT vector, used_at
FROM vectors
WHERE input = :input;
