-- The greatest identifier that the table ?1 has used.
SELECT seq
FROM main.sqlite_sequence
WHERE name = ?1;
