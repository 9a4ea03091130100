-- Lists the tables and views of the database :schema, or of the current one if it is NULL,
-- restricted to the name :table if it is given.
SELECT
    table_schema AS table_schema,
    table_name AS table_name,
    CASE WHEN table_type LIKE '%VIEW' THEN 'VIEW' ELSE 'TABLE' END AS kind,
    CASE WHEN table_type LIKE '%VIEW' THEN '' ELSE table_comment END AS description,
    0 AS is_partition
FROM information_schema.tables
WHERE table_schema = COALESCE(?, DATABASE())
    AND table_name = COALESCE(?, table_name)
    AND table_type <> 'SEQUENCE'
ORDER BY table_name;
