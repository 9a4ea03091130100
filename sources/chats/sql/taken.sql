-- Returns a row if a conversation has the identifier :id.
SELECT 1 FROM conversations WHERE id = :id;
