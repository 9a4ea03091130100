-- Full-text rows that a restricted reader may not see, in ascending order. `Media` is then a view.
SELECT id AS key
FROM main.Media
WHERE id NOT IN (SELECT id FROM Media)
ORDER BY id;
