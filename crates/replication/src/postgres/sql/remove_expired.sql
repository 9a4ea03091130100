-- Removes the values of all users that have expired.
DELETE FROM shared_value
WHERE user_id IS NOT NULL AND expires_at <= now();
