-- The plain tables of the file, without views, full-text tables and tables of SQLite.
SELECT name
FROM pragma_table_list
WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY name;
