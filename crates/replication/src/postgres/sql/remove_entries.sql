-- Removes the rows of the database ($1, $2).
DELETE FROM entry
WHERE user_id = $1 AND part = $2;
