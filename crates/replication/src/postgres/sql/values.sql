-- The values of the keys $3 that have not expired, each with its key and the seconds that it has left.
SELECT
    shared_value.key,
    shared_value.content,
    extract(EPOCH FROM shared_value.expires_at - now())::float8 AS seconds_left
FROM shared_value
WHERE
    shared_value.user_id = $1
    AND shared_value.kind = $2
    AND shared_value.key = ANY($3)
    AND (shared_value.expires_at IS NULL OR shared_value.expires_at > now());
