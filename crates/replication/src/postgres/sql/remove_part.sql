-- Removes the head of the database ($1, $2), before its rows, so that no write can add to them.
DELETE FROM part
WHERE user_id = $1 AND part = $2;
