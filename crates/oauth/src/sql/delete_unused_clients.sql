-- Keeps the newest :max of the clients that never got a token, and those since :protected_since.
DELETE FROM oauth_clients
WHERE used_at IS NULL
    AND created_at < :protected_since
    AND id IN (
        SELECT id
        FROM oauth_clients
        WHERE used_at IS NULL
        ORDER BY created_at DESC, id
        LIMIT -1 OFFSET :max
    );
