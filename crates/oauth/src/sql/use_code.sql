-- Marks the code :digest as used.
UPDATE oauth_codes
SET used_at = :now
WHERE digest = :digest;
