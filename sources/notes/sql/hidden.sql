-- Full-text rows that a restricted reader may not see, in ascending order. `notes` is then a view.
SELECT row AS key
FROM main.notes
WHERE row NOT IN (SELECT row FROM notes)
ORDER BY row;
