-- Marks a note as deleted, and tells its row.
UPDATE notes SET deleted = 1 WHERE id = :id RETURNING row;
