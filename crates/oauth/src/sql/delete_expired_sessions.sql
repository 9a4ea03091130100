-- Deletes the logins that have expired.
DELETE FROM login_sessions
WHERE expires_at <= :now;
