-- Deletes the keys of a user.
DELETE FROM api_keys
WHERE user = :name;
