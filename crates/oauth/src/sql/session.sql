-- Reads the user of the login :digest, unless it has expired or the user is suspended.
SELECT users.name AS user, users.grantable, login_sessions.expires_at
FROM login_sessions
JOIN users ON users.name = login_sessions.user
WHERE login_sessions.digest = :digest
    AND login_sessions.expires_at > :now
    AND users.suspended_at IS NULL;
