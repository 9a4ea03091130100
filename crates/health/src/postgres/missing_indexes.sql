-- Foreign keys without an index, big tables that are mostly read whole, and tables without a key.
WITH foreign_keys AS (
    SELECT
        format('%I.%I', namespace.nspname, relation.relname) AS object,
        rule.conname,
        greatest(relation.reltuples, 0)::bigint AS rows,
        (
            SELECT string_agg(quote_ident(attribute.attname), ', ' ORDER BY place.ordinal)
            FROM pg_catalog.unnest(rule.conkey) WITH ORDINALITY AS place (number, ordinal)
            JOIN pg_catalog.pg_attribute AS attribute
                ON attribute.attrelid = rule.conrelid AND attribute.attnum = place.number
        ) AS columns,
        rule.confrelid::regclass::text AS target
    FROM pg_catalog.pg_constraint AS rule
    JOIN pg_catalog.pg_class AS relation ON relation.oid = rule.conrelid
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    WHERE rule.contype = 'f' AND rule.conparentid = 0
        AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_index AS entry
            WHERE entry.indrelid = rule.conrelid AND entry.indisvalid AND entry.indpred IS NULL
                -- The columns of the key, in any order, are the first ones of the index. Operators of
                -- arrays mean something else where the extension intarray is installed.
                AND NOT EXISTS (
                    SELECT FROM pg_catalog.unnest(rule.conkey) AS part (number)
                    WHERE part.number <> ALL ((entry.indkey::smallint[])[0:cardinality(rule.conkey) - 1])
                )
        )
)
SELECT
    CASE WHEN rows >= 100000 THEN 'warning' ELSE 'notice' END AS severity,
    object,
    rows AS measure,
    'rows' AS unit,
    format('The foreign key %I of %s has no index on (%s): each delete in %s reads all %s rows.',
        conname, object, columns, target, rows) AS sentence,
    format('CREATE INDEX CONCURRENTLY ON %s (%s);', object, columns) AS suggestion
FROM foreign_keys
WHERE rows >= 1000
UNION ALL
SELECT 'notice', format('%I.%I', schemaname, relname), seq_tup_read, 'rows',
    format('%I.%I has %s rows and was read whole %s times, but through an index only %s times.',
        schemaname, relname, n_live_tup, seq_scan, coalesce(idx_scan, 0)),
    '-- advise_indexes says which index helps the statements that read it'
FROM pg_catalog.pg_stat_user_tables
WHERE n_live_tup >= 10000 AND seq_scan >= 50 AND seq_scan > 10 * coalesce(idx_scan, 0)
UNION ALL
SELECT 'notice', format('%I.%I', namespace.nspname, relation.relname),
    greatest(relation.reltuples, 0)::bigint, 'rows',
    format('%I.%I has no primary key and no unique index; a row cannot be named, and replication of changes is slow.',
        namespace.nspname, relation.relname),
    NULL
FROM pg_catalog.pg_class AS relation
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
WHERE relation.relkind IN ('r', 'p') AND NOT relation.relispartition AND relation.reltuples >= 1000
    AND namespace.nspname <> 'information_schema'
    AND namespace.nspname NOT LIKE 'pg\_%'
    AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_index AS entry
        WHERE entry.indrelid = relation.oid AND entry.indisunique AND entry.indpred IS NULL
    )
ORDER BY measure DESC;
