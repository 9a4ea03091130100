-- Deletes the token :digest.
DELETE FROM oauth_tokens
WHERE digest = :digest;
