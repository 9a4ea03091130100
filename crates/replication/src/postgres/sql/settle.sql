-- Returns a row if the write $4 is stored as number $3 of the database ($1, $2). The row is written
-- again, so that its commit is confirmed by a standby only after that of the write itself.
UPDATE receipt
SET write_id = $4
WHERE user_id = $1 AND part = $2 AND seq = $3 AND write_id = $4
RETURNING seq;
