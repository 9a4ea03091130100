-- Lists the indexes of the schema $1 and the table $2, each only if it is given. One row per
-- column.
SELECT
    namespace.nspname AS table_schema,
    relation.relname AS table_name,
    named.relname AS key_name,
    pg_catalog.pg_get_indexdef(entry.indexrelid, place.number, TRUE) AS column_name,
    entry.indisunique AS is_unique
FROM pg_catalog.pg_index AS entry
JOIN pg_catalog.pg_class AS relation ON relation.oid = entry.indrelid
JOIN pg_catalog.pg_class AS named ON named.oid = entry.indexrelid
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
CROSS JOIN LATERAL pg_catalog.generate_series(1, entry.indnkeyatts::integer) AS place (number)
WHERE namespace.nspname <> 'information_schema'
    AND namespace.nspname NOT LIKE 'pg\_%'
    AND ($1::text IS NULL OR namespace.nspname = $1::text)
    AND ($2::text IS NULL OR relation.relname = $2::text)
ORDER BY namespace.nspname, relation.relname, named.relname, place.number;
