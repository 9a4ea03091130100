-- Reads the grant of the access token :digest, with the state of its user.
SELECT
    api_keys.id, api_keys.user, api_keys.name, oauth_tokens.scopes, api_keys.delegating,
    api_keys.access, api_keys.created_at, api_keys.expires_at, api_keys.revoked_at,
    api_keys.last_used_at, api_keys.client_id, api_keys.redirect_uri,
    oauth_tokens.resource, oauth_tokens.expires_at AS token_expires_at,
    users.suspended_at, users.grantable
FROM oauth_tokens
JOIN api_keys ON api_keys.id = oauth_tokens.key
JOIN users ON users.name = api_keys.user
WHERE oauth_tokens.digest = :digest AND oauth_tokens.kind = 'access';
