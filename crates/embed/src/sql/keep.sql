-- Inserts or replaces the vector of an input.
INSERT INTO vectors (input, vector, used_at)
VALUES (:input, :vector, :now)
ON CONFLICT (input) DO UPDATE SET vector = excluded.vector, used_at = excluded.used_at;
