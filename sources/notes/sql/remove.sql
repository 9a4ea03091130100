-- Marks a note as deleted and returns its row.
UPDATE notes SET deleted = 1 WHERE id = :id RETURNING row;
