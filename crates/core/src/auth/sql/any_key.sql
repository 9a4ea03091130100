-- `found` is true if at least one key is valid.
SELECT EXISTS (
    SELECT 1
    FROM api_keys
    WHERE revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > :now)
) AS found;
