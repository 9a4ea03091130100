-- Marks a prompt as deleted and returns its row.
UPDATE Prompts SET deleted = 1 WHERE id = CAST(:id AS INTEGER) RETURNING id AS row;
