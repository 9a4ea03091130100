-- A row if something has the identifier :id.
SELECT 1 FROM conversations WHERE id = :id;
