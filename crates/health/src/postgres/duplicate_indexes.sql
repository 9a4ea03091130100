-- Indexes whose work another index of the same table does too.
WITH entry AS (
    SELECT
        index.indexrelid, index.indrelid, index.indisunique, index.indisprimary, index.indnkeyatts,
        index.indkey::text AS keys, index.indclass::text AS classes,
        index.indcollation::text AS collations, index.indoption::text AS options,
        pg_get_expr(index.indexprs, index.indrelid) AS expressions,
        pg_get_expr(index.indpred, index.indrelid) AS predicate,
        index.indnatts, relation.relam,
        format('%I.%I', namespace.nspname, relation.relname) AS name,
        format('%I.%I', namespace.nspname, owner.relname) AS owner,
        EXISTS (SELECT FROM pg_catalog.pg_constraint AS rule WHERE rule.conindid = index.indexrelid) AS is_needed,
        relation.relpages::bigint * 8192 AS bytes,
        relation.relkind
    FROM pg_catalog.pg_index AS index
    JOIN pg_catalog.pg_class AS relation ON relation.oid = index.indexrelid
    JOIN pg_catalog.pg_class AS owner ON owner.oid = index.indrelid
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    WHERE index.indisvalid AND relation.relkind = 'i' AND NOT relation.relispartition
        AND namespace.nspname <> 'information_schema'
        AND namespace.nspname NOT LIKE 'pg\_%'
), pair AS (
    SELECT DISTINCT ON (spare.indexrelid)
        spare.name, spare.owner, spare.bytes, kept.name AS kept,
        spare.keys = kept.keys AND spare.indnatts = kept.indnatts AS is_equal
    FROM entry AS spare
    JOIN entry AS kept ON kept.indrelid = spare.indrelid AND kept.indexrelid <> spare.indexrelid
        AND kept.relam = spare.relam
        AND kept.predicate IS NOT DISTINCT FROM spare.predicate
    JOIN pg_catalog.pg_am AS method ON method.oid = spare.relam
    WHERE NOT spare.is_needed AND NOT spare.indisprimary
        AND (
            -- The same columns in the same order. Of two equal ones, the older is kept.
            spare.keys = kept.keys AND spare.classes = kept.classes
                AND spare.collations = kept.collations AND spare.options = kept.options
                AND spare.expressions IS NOT DISTINCT FROM kept.expressions
                AND (NOT spare.indisunique OR kept.indisunique)
                AND (kept.is_needed OR (kept.indisunique AND NOT spare.indisunique)
                    OR kept.indexrelid < spare.indexrelid)
            -- The first columns of a longer B-tree index.
            OR method.amname = 'btree' AND NOT spare.indisunique
                AND spare.expressions IS NULL AND kept.expressions IS NULL
                AND spare.indnatts = spare.indnkeyatts
                AND spare.indnkeyatts < kept.indnkeyatts
                AND starts_with(kept.keys, spare.keys || ' ')
                AND starts_with(kept.classes, spare.classes || ' ')
                AND starts_with(kept.collations, spare.collations || ' ')
                AND starts_with(kept.options, spare.options || ' ')
        )
    ORDER BY spare.indexrelid, kept.is_needed DESC, kept.indexrelid
)
SELECT
    CASE WHEN bytes >= 1073741824 THEN 'warning' ELSE 'notice' END AS severity,
    name AS object,
    bytes AS measure,
    'bytes' AS unit,
    format('The index %s on %s %s %s; it takes %s and slows every write.', name, owner,
        CASE WHEN is_equal THEN 'is the same as' ELSE 'has only the first columns of' END, kept,
        pg_size_pretty(bytes)) AS sentence,
    format('DROP INDEX CONCURRENTLY %s;', name) AS suggestion
FROM pair
ORDER BY bytes DESC;
