-- Stores a value, which expires after $5 seconds, if there is none, or only one that has expired.
-- Returns a row if it did.
INSERT INTO shared_value AS stored (user_id, kind, key, content, expires_at)
VALUES ($1, $2, $3, $4, now() + $5::float8 * INTERVAL '1 second')
ON CONFLICT (user_id, kind, key) DO UPDATE
SET content = excluded.content, expires_at = excluded.expires_at
WHERE stored.expires_at <= now()
RETURNING stored.key;
