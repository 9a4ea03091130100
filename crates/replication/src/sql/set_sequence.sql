-- Stores the greatest identifier that the table ?1 has used.
INSERT INTO main.sqlite_sequence (name, seq)
VALUES (?1, ?2);
