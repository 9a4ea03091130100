-- Reads what the login of the user of exactly this name needs.
SELECT
    password, grantable, suspended_at,
    EXISTS (SELECT 1 FROM second_factors WHERE second_factors.user = users.name) AS has_second_factor
FROM users
WHERE name = :user
    AND name = :user COLLATE BINARY;
