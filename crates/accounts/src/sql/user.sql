-- Reads the user of exactly this name, in the same letter case.
SELECT name, folder, suspended_at, max_bytes, max_items
FROM users
WHERE name = :name
    AND name = :name COLLATE BINARY;
