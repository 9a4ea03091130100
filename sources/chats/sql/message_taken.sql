-- Returns a row if a message has the identifier :id.
SELECT 1 FROM messages WHERE id = :id;
