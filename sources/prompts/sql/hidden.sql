-- Full-text rows that a restricted reader may not see, in ascending order. `Prompts` is then a view.
SELECT id AS key
FROM main.Prompts
WHERE id NOT IN (SELECT id FROM Prompts)
ORDER BY id;
