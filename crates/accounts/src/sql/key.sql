-- Reads the API key :id, which is no grant of a client, with its digests and the state of its
-- user.
SELECT
    api_keys.id, api_keys.user, api_keys.name, api_keys.scopes, api_keys.delegating,
    api_keys.access, api_keys.created_at, api_keys.expires_at, api_keys.revoked_at,
    api_keys.last_used_at, api_keys.client_id, api_keys.redirect_uri,
    api_keys.digest, api_keys.previous_digest, api_keys.previous_until,
    users.suspended_at
FROM api_keys
JOIN users ON users.name = api_keys.user
WHERE api_keys.id = :id AND api_keys.client_id IS NULL;
