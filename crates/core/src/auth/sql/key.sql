-- The key of that id, with what it is checked against.
SELECT id, user, name, scopes, delegating, created_at, expires_at, revoked_at, digest
FROM api_keys
WHERE id = :id;
