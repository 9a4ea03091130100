-- Deletes the one-time code :digest, and those that have expired.
DELETE FROM login_codes
WHERE digest = :digest OR expires_at <= :now;
