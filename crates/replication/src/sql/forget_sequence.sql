-- Removes the greatest identifier that the table ?1 has used.
DELETE FROM main.sqlite_sequence
WHERE name = ?1;
