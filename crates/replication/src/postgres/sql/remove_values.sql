-- Removes the values of the user $1, of the kind $2 or of all kinds.
DELETE FROM shared_value
WHERE user_id = $1 AND ($2::text IS NULL OR kind = $2);
