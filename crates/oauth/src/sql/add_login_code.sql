-- Inserts a one-time code. Only its digest is stored.
INSERT INTO login_codes (digest, user, expires_at)
VALUES (:digest, :user, :expires_at);
