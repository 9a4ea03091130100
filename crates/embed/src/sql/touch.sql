-- Updates the time of the last use of a vector.
UPDATE vectors
SET used_at = :now
WHERE input = :input;
