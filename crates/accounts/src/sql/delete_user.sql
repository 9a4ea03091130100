-- Deletes a user, whose keys must be deleted already.
DELETE FROM users
WHERE name = :name
    AND name = :name COLLATE BINARY;
