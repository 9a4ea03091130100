-- Revokes all but the newest :max valid grants of a user for a client.
UPDATE api_keys
SET revoked_at = :now
WHERE id IN (
    SELECT id
    FROM api_keys
    WHERE client_id = :client_id
        AND user = :user
        AND revoked_at IS NULL
        AND expires_at > :now
    ORDER BY created_at DESC, id
    LIMIT -1 OFFSET :max
);
