-- Records the grant that the code :digest was exchanged for.
UPDATE oauth_codes
SET key = :key
WHERE digest = :digest;
