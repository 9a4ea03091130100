-- Revokes the valid grants of the client :id.
UPDATE api_keys
SET revoked_at = :now
WHERE client_id = :id AND revoked_at IS NULL;
