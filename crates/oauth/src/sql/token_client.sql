-- Reads the client of the token :digest.
SELECT api_keys.client_id
FROM oauth_tokens
JOIN api_keys ON api_keys.id = oauth_tokens.key
WHERE oauth_tokens.digest = :digest;
