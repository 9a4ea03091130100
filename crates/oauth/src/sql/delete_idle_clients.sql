-- Deletes the clients that never got a token since :unused_since, and those without a valid grant
-- that got none since :idle_since.
DELETE FROM oauth_clients
WHERE (used_at IS NULL AND created_at < :unused_since)
    OR (
        used_at < :idle_since
        AND NOT EXISTS (
            SELECT 1
            FROM api_keys
            WHERE api_keys.client_id = oauth_clients.id
                AND api_keys.revoked_at IS NULL
                AND (api_keys.expires_at IS NULL OR api_keys.expires_at > :now)
        )
    );
