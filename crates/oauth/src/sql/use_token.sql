-- Marks the refresh token :digest as used.
UPDATE oauth_tokens
SET used_at = :now
WHERE digest = :digest;
