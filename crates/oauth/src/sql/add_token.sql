-- Inserts a token of a grant. Only its digest is stored.
INSERT INTO oauth_tokens (digest, key, kind, resource, scopes, expires_at)
VALUES (:digest, :key, :kind, :resource, :scopes, :expires_at);
