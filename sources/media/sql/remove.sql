-- Marks a media document as deleted, and tells its row.
UPDATE Media SET deleted = 1 WHERE id = CAST(:id AS INTEGER) RETURNING id AS row;
