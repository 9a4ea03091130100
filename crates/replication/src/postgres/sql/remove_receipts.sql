-- Removes the receipts of the database ($1, $2).
DELETE FROM receipt
WHERE user_id = $1 AND part = $2;
