-- Size, columns and indexes of the table $2 in the schema $1. An index is a list of its plain
-- columns up to the first expression; partial, invalid and other than B-tree indexes are left out.
SELECT
    relation.reltuples::double precision AS rows,
    relation.relispartition AS is_partition,
    (
        SELECT jsonb_agg(jsonb_build_object(
            'name', attribute.attname,
            'type', format_type(attribute.atttypid, NULL),
            'distinct', CASE WHEN stat.n_distinct < 0 THEN -stat.n_distinct * relation.reltuples ELSE stat.n_distinct END
        ))::text
        FROM pg_catalog.pg_attribute AS attribute
        LEFT JOIN pg_catalog.pg_stats AS stat
            ON stat.schemaname = namespace.nspname AND stat.tablename = relation.relname
            AND stat.attname = attribute.attname AND NOT stat.inherited
        WHERE attribute.attrelid = relation.oid AND attribute.attnum > 0 AND NOT attribute.attisdropped
    ) AS columns,
    (
        SELECT jsonb_agg((
            SELECT jsonb_agg(attribute.attname ORDER BY place.ordinal)
            FROM unnest(entry.indkey::smallint[]) WITH ORDINALITY AS place (number, ordinal)
            LEFT JOIN pg_catalog.pg_attribute AS attribute
                ON attribute.attrelid = entry.indrelid AND attribute.attnum = place.number AND place.number > 0
            WHERE place.ordinal <= entry.indnkeyatts
        ))::text
        FROM pg_catalog.pg_index AS entry
        JOIN pg_catalog.pg_class AS named ON named.oid = entry.indexrelid
        JOIN pg_catalog.pg_am AS method ON method.oid = named.relam
        WHERE entry.indrelid = relation.oid AND entry.indisvalid AND entry.indpred IS NULL
            AND method.amname = 'btree'
    ) AS indexes
FROM pg_catalog.pg_class AS relation
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
WHERE namespace.nspname = $1::text AND relation.relname = $2::text;
