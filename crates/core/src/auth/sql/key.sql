-- Reads the key :id with its digest.
SELECT id, user, name, scopes, delegating, created_at, expires_at, revoked_at, digest
FROM api_keys
WHERE id = :id;
