-- Lists the tables and views that the current user may select.
SELECT
    format('%I.%I', namespace.nspname, class.relname) AS name
FROM pg_catalog.pg_class AS class
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
WHERE class.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND namespace.nspname <> 'information_schema'
    AND namespace.nspname NOT LIKE 'pg\_%'
    AND pg_catalog.has_schema_privilege(namespace.oid, 'USAGE')
    AND pg_catalog.has_table_privilege(class.oid, 'SELECT')
ORDER BY namespace.nspname, class.relname
LIMIT 2000
