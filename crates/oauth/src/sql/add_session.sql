-- Inserts a login. Only the digest of its cookie is stored.
INSERT INTO login_sessions (digest, user, expires_at)
VALUES (:digest, :user, :expires_at);
