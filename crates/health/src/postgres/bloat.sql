-- Estimated unused space in tables and B-tree indexes, from the average widths in the statistics.
-- Sizes are those of the last VACUUM or ANALYZE: reading the current ones would wait for locks.
WITH widths AS (
    SELECT starelid, sum((1 - stanullfrac) * stawidth) AS bytes, count(*) AS columns
    FROM (
        SELECT relation.oid AS starelid, stat.null_frac AS stanullfrac, stat.avg_width AS stawidth
        FROM pg_catalog.pg_stats AS stat
        JOIN pg_catalog.pg_namespace AS namespace ON namespace.nspname = stat.schemaname
        JOIN pg_catalog.pg_class AS relation
            ON relation.relnamespace = namespace.oid AND relation.relname = stat.tablename
        WHERE NOT stat.inherited
    ) AS known
    GROUP BY starelid
), tables AS (
    SELECT
        format('%I.%I', namespace.nspname, relation.relname) AS object,
        'table' AS kind,
        relation.relpages::bigint * 8192 AS bytes,
        -- 28 bytes for the header and pointer of a row, 8 for alignment; 24 for that of a page.
        ceil(relation.reltuples * (36 + widths.bytes)
            / (8168 * coalesce(substring(array_to_string(relation.reloptions, ',') FROM 'fillfactor=([0-9]+)')::numeric, 100) / 100))
            * 8192 AS needed,
        format('VACUUM (FULL, VERBOSE) %I.%I;', namespace.nspname, relation.relname)
            || ' -- locks the table while it runs; pg_repack does not' AS suggestion
    FROM pg_catalog.pg_class AS relation
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    JOIN widths ON widths.starelid = relation.oid
    WHERE relation.relkind IN ('r', 'm') AND relation.reltuples >= 0
        AND namespace.nspname <> 'information_schema'
        AND namespace.nspname NOT LIKE 'pg\_%'
        -- Statistics of all columns are needed, or the estimate is far too small.
        AND widths.columns = (
            SELECT count(*) FROM pg_catalog.pg_attribute AS attribute
            WHERE attribute.attrelid = relation.oid AND attribute.attnum > 0 AND NOT attribute.attisdropped
        )
), indexes AS (
    SELECT
        format('%I.%I', namespace.nspname, relation.relname) AS object,
        'index' AS kind,
        relation.relpages::bigint * 8192 AS bytes,
        ceil(relation.reltuples * (20 + widths.bytes) / (8152 * 0.9)) * 8192 AS needed,
        format('REINDEX INDEX CONCURRENTLY %I.%I;', namespace.nspname, relation.relname) AS suggestion
    FROM pg_catalog.pg_index AS entry
    JOIN pg_catalog.pg_class AS relation ON relation.oid = entry.indexrelid
    JOIN pg_catalog.pg_am AS method ON method.oid = relation.relam
    JOIN pg_catalog.pg_class AS owner ON owner.oid = entry.indrelid
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    CROSS JOIN LATERAL (
        SELECT sum((1 - stat.null_frac) * stat.avg_width) AS bytes, count(*) AS columns
        FROM pg_catalog.unnest(entry.indkey) AS place (number)
        JOIN pg_catalog.pg_attribute AS attribute
            ON attribute.attrelid = entry.indrelid AND attribute.attnum = place.number
        JOIN pg_catalog.pg_stats AS stat
            ON stat.schemaname = namespace.nspname AND stat.tablename = owner.relname
            AND stat.attname = attribute.attname AND NOT stat.inherited
    ) AS widths
    WHERE method.amname = 'btree' AND entry.indisvalid AND relation.reltuples >= 0
        AND widths.columns = entry.indnatts
        AND namespace.nspname <> 'information_schema'
        AND namespace.nspname NOT LIKE 'pg\_%'
), wasted AS (
    SELECT *, bytes - needed AS unused, round(((bytes - needed) * 100.0 / greatest(bytes, 1))::numeric, 1) AS percent
    FROM (SELECT * FROM tables UNION ALL SELECT * FROM indexes) AS relation
), unreadable AS (
    SELECT count(*) AS tables
    FROM pg_catalog.pg_class AS relation
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    WHERE relation.relkind = 'r'
        AND namespace.nspname <> 'information_schema'
        AND namespace.nspname NOT LIKE 'pg\_%'
        AND NOT pg_catalog.has_table_privilege(relation.oid, 'SELECT')
)
SELECT
    CASE WHEN unused >= 1073741824 AND percent >= 60 THEN 'warning' ELSE 'notice' END AS severity,
    object,
    unused::bigint AS measure,
    'bytes' AS unit,
    format('The %s %s takes %s, of which about %s (%s%%) is unused; this is an estimate from statistics.',
        kind, object, pg_size_pretty(bytes), pg_size_pretty(unused::bigint), percent) AS sentence,
    suggestion
FROM wasted
WHERE unused >= 1048576 AND percent >= 40
UNION ALL
SELECT 'hidden', 'tables', tables, 'tables',
    format('%s tables that this role cannot read are left out, because their statistics are not visible to it.', tables),
    NULL
FROM unreadable
WHERE tables > 0
ORDER BY measure DESC;
