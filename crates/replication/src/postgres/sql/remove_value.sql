-- Removes a value.
DELETE FROM shared_value
WHERE user_id = $1 AND kind = $2 AND key = $3;
