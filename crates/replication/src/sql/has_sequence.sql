-- Returns a row if the table ?1 never uses an identifier again.
SELECT 1
FROM main.sqlite_schema
WHERE type = 'table' AND name = ?1 AND sql LIKE '%AUTOINCREMENT%';
