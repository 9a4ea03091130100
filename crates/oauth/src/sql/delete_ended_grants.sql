-- Deletes the grants that were revoked or expired before :since, with their tokens.
DELETE FROM api_keys
WHERE client_id IS NOT NULL
    AND (revoked_at < :since OR expires_at < :since);
