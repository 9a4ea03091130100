-- Deletes the tokens that expired before :since.
DELETE FROM oauth_tokens
WHERE expires_at < :since;
