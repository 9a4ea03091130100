-- Sets the quotas of a user; NULL leaves them to the settings.
UPDATE users
SET max_bytes = :max_bytes, max_items = :max_items
WHERE name = :name
    AND name = :name COLLATE BINARY;
