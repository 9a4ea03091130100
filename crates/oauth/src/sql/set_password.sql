-- Replaces the hash of the password of the user of exactly this name.
UPDATE users
SET password = :password
WHERE name = :user
    AND name = :user COLLATE BINARY;
