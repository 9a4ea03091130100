-- Replaces the strongest right that the user of exactly this name may give to clients.
UPDATE users
SET grantable = :right
WHERE name = :user
    AND name = :user COLLATE BINARY;
