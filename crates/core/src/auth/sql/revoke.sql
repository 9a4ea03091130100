-- Revokes a key; one that was revoked before keeps its date.
UPDATE api_keys
SET revoked_at = coalesce(revoked_at, :now)
WHERE id = :id;
