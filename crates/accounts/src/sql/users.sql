-- Lists all users by name, with their numbers of valid keys.
SELECT
    users.name,
    users.created_at,
    users.suspended_at,
    count(api_keys.id) AS keys
FROM users
LEFT JOIN api_keys
    ON api_keys.user = users.name
    AND api_keys.revoked_at IS NULL
    AND (api_keys.expires_at IS NULL OR api_keys.expires_at > :now)
GROUP BY users.name
ORDER BY users.name;
