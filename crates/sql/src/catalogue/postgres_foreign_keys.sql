-- Lists the foreign keys of the schema $1 and the table $2, each only if it is given. One row per
-- column.
SELECT
    namespace.nspname AS table_schema,
    relation.relname AS table_name,
    entry.conname AS key_name,
    referring.attname AS column_name,
    target_namespace.nspname AS target_schema,
    target.relname AS target_table,
    referred.attname AS target_column
FROM pg_catalog.pg_constraint AS entry
JOIN pg_catalog.pg_class AS relation ON relation.oid = entry.conrelid
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
JOIN pg_catalog.pg_class AS target ON target.oid = entry.confrelid
JOIN pg_catalog.pg_namespace AS target_namespace ON target_namespace.oid = target.relnamespace
CROSS JOIN LATERAL pg_catalog.generate_subscripts(entry.conkey, 1) AS place (number)
JOIN pg_catalog.pg_attribute AS referring
    ON referring.attrelid = entry.conrelid AND referring.attnum = entry.conkey[place.number]
JOIN pg_catalog.pg_attribute AS referred
    ON referred.attrelid = entry.confrelid AND referred.attnum = entry.confkey[place.number]
LEFT JOIN pg_catalog.pg_constraint AS whole
    ON whole.oid = entry.conparentid AND whole.conrelid = entry.conrelid
WHERE entry.contype = 'f'
    AND whole.oid IS NULL
    AND ($1::text IS NULL OR namespace.nspname = $1::text)
    AND ($2::text IS NULL OR relation.relname = $2::text)
ORDER BY namespace.nspname, relation.relname, entry.conname, place.number;
