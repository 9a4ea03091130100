-- Indexes that a failed CREATE INDEX CONCURRENTLY or REINDEX left behind.
SELECT
    'warning' AS severity,
    format('%I.%I', namespace.nspname, relation.relname) AS object,
    relation.relpages::bigint * 8192 AS measure,
    'bytes' AS unit,
    format('The index %I.%I on %I is invalid: queries do not use it%s.', namespace.nspname,
        relation.relname, owner.relname,
        CASE WHEN entry.indisready THEN ', and writes still maintain it' ELSE '' END) AS sentence,
    format('DROP INDEX CONCURRENTLY %I.%I; -- then run: %s', namespace.nspname, relation.relname,
        pg_get_indexdef(relation.oid)) AS suggestion
FROM pg_catalog.pg_index AS entry
JOIN pg_catalog.pg_class AS relation ON relation.oid = entry.indexrelid
JOIN pg_catalog.pg_class AS owner ON owner.oid = entry.indrelid
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
WHERE NOT entry.indisvalid AND relation.relkind = 'i'
ORDER BY object;
