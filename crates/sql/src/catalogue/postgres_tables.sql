-- Lists the tables and views of the schema $1 with the name $2, each only if it is given.
-- `is_partition` marks partitions, because their rows also belong to the partitioned table.
SELECT
    namespace.nspname AS table_schema,
    relation.relname AS table_name,
    CASE relation.relkind
        WHEN 'v' THEN 'VIEW'
        WHEN 'm' THEN 'MATERIALIZED VIEW'
        ELSE 'TABLE'
    END AS kind,
    pg_catalog.obj_description(relation.oid, 'pg_class') AS description,
    relation.relispartition AS is_partition
FROM pg_catalog.pg_class AS relation
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
WHERE relation.relkind IN ('r', 'p', 'f', 'v', 'm')
    AND namespace.nspname <> 'information_schema'
    AND namespace.nspname NOT LIKE 'pg\_%'
    AND ($1::text IS NULL OR namespace.nspname = $1::text)
    AND ($2::text IS NULL OR relation.relname = $2::text)
ORDER BY namespace.nspname, relation.relname;
