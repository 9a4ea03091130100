-- Reads what the login of the user of exactly this name needs.
SELECT password, grantable, suspended_at
FROM users
WHERE name = :user
    AND name = :user COLLATE BINARY;
