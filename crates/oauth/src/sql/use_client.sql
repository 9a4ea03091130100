-- Records that the client :id got tokens.
UPDATE oauth_clients
SET used_at = :now
WHERE id = :id;
