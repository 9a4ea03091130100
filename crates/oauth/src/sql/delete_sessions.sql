-- Deletes the logins of a user.
DELETE FROM login_sessions
WHERE user = :user;
