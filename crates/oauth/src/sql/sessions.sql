-- Reads the logins of :user that have not expired, the last used first.
SELECT digest, expires_at
FROM login_sessions
WHERE user = :user AND expires_at > :now
ORDER BY expires_at DESC, digest;
