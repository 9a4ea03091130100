-- Stores the values of the keys $3 and replaces those that are there.
INSERT INTO shared_value (user_id, kind, key, content, expires_at)
SELECT $1, $2, given.key, given.content, given.expires_at
FROM unnest($3::bytea[], $4::bytea[], $5::timestamptz[]) AS given (key, content, expires_at)
ON CONFLICT (user_id, kind, key) DO UPDATE
SET content = excluded.content, expires_at = excluded.expires_at;
