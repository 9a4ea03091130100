-- Lists all keys and grants by user, oldest first.
SELECT
    id, user, name, scopes, delegating, access, created_at, expires_at, revoked_at, last_used_at,
    client_id, redirect_uri
FROM api_keys
ORDER BY user, created_at, id;
