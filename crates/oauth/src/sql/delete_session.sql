-- Deletes the login :digest.
DELETE FROM login_sessions
WHERE digest = :digest;
