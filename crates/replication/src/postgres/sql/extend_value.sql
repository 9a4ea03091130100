-- Has the value $4 expire after $5 seconds, if it is still there.
UPDATE shared_value
SET expires_at = now() + $5::float8 * INTERVAL '1 second'
WHERE user_id = $1 AND kind = $2 AND key = $3 AND content = $4 AND expires_at > now();
