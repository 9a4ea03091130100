-- Notes that a vector was used.
UPDATE vectors
SET used_at = :now
WHERE input = :input;
