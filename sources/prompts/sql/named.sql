-- The prompt of that name, deleted ones too.
SELECT id FROM Prompts WHERE name = :name;
