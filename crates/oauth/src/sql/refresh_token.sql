-- Reads the refresh token :digest with its grant and the state of its user.
SELECT
    oauth_tokens.key, oauth_tokens.scopes, oauth_tokens.resource, oauth_tokens.expires_at,
    oauth_tokens.used_at, users.name AS user, api_keys.client_id, api_keys.name AS client_name,
    api_keys.expires_at AS grant_expires_at, api_keys.revoked_at, users.suspended_at
FROM oauth_tokens
JOIN api_keys ON api_keys.id = oauth_tokens.key
JOIN users ON users.name = api_keys.user
WHERE oauth_tokens.digest = :digest AND oauth_tokens.kind = 'refresh';
