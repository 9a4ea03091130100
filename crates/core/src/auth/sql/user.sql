-- Whether there is a user of exactly that name.
SELECT 1 AS known
FROM users
WHERE name = :name
    AND name = :name COLLATE BINARY;
