-- Reads the user of the one-time code :digest, if it is valid.
SELECT user
FROM login_codes
WHERE digest = :digest AND expires_at > :now;
