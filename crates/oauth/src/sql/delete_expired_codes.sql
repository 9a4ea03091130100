-- Deletes the codes that expired before :since.
DELETE FROM oauth_codes
WHERE expires_at < :since;
