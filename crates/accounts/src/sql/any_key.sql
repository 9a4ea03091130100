-- `found` is true if at least one API key of a user who is not suspended is valid.
SELECT EXISTS (
    SELECT 1
    FROM api_keys
    JOIN users ON users.name = api_keys.user
    WHERE api_keys.revoked_at IS NULL
        AND api_keys.client_id IS NULL
        AND users.suspended_at IS NULL
        AND (api_keys.expires_at IS NULL OR api_keys.expires_at > :now)
) AS found;
