-- Revokes a key. A key that is already revoked keeps its revocation time.
UPDATE api_keys
SET revoked_at = coalesce(revoked_at, :now)
WHERE id = :id;
