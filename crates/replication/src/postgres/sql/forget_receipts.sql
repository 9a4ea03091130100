-- Removes the receipts of the database ($1, $2) up to the write $3.
DELETE FROM receipt
WHERE user_id = $1 AND part = $2 AND seq <= $3;
