-- Reads the vector of an input and the time of its last use.
SELECT vector, used_at
FROM vectors
WHERE input = :input;
