-- Returns a row if a note has the identifier :id.
SELECT 1 FROM notes WHERE id = :id;
