-- Finds the prompt with this name, even if it is deleted.
SELECT id FROM Prompts WHERE name = :name;
