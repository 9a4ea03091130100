-- Returns a row if a user has exactly this name, in the same letter case.
SELECT 1 AS known
FROM users
WHERE name = :name
    AND name = :name COLLATE BINARY;
