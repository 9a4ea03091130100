-- Marks a character as deleted and returns its row.
UPDATE character_cards SET deleted = 1 WHERE id = CAST(:id AS INTEGER) RETURNING id AS row;
