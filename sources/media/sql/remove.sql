-- Marks a document as deleted and returns its row.
UPDATE Media SET deleted = 1 WHERE id = CAST(:id AS INTEGER) RETURNING id AS row;
