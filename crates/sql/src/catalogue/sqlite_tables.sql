-- Lists the tables and views of the schema ?1 (`main` if NULL), restricted to the name ?2 if it is
-- given. Internal and shadow tables are excluded.
SELECT
    listed.schema AS table_schema,
    listed.name AS table_name,
    CASE listed.type WHEN 'view' THEN 'VIEW' ELSE 'TABLE' END AS kind,
    '' AS description,
    0 AS is_partition
FROM pragma_table_list AS listed
WHERE listed.schema = COALESCE(?1, 'main')
    AND listed.name = COALESCE(?2, listed.name)
    AND listed.type IN ('table', 'view', 'virtual')
    AND substr(listed.name, 1, 7) <> 'sqlite_'
ORDER BY listed.name;
