-- Stores the values of the keys $3, which expire after some seconds, and replaces those that are there.
INSERT INTO shared_value (user_id, kind, key, content, expires_at)
SELECT $1, $2, given.key, given.content, now() + given.seconds * INTERVAL '1 second'
FROM unnest($3::bytea[], $4::bytea[], $5::float8[]) AS given (key, content, seconds)
ON CONFLICT (user_id, kind, key) DO UPDATE
SET content = excluded.content, expires_at = excluded.expires_at;
