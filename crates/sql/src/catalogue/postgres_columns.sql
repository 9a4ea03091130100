-- Lists the columns of the schema $1 and the table $2, each only if it is given. With $3, lists
-- vector columns only. The catalogue repeats a foreign key of a partitioned table for each
-- referenced partition, and these copies are excluded.
WITH catalogue_foreign_key AS (
    SELECT
        foreign_key.conrelid AS relation,
        pair.referring AS attnum,
        pg_catalog.string_agg(
            DISTINCT namespace.nspname || '.' || target.relname || '.' || attribute.attname, ', '
        ) AS fk_ref
    FROM pg_catalog.pg_constraint AS foreign_key
    CROSS JOIN LATERAL (
        SELECT
            pg_catalog.unnest(foreign_key.conkey) AS referring,
            pg_catalog.unnest(foreign_key.confkey) AS referred
    ) AS pair
    JOIN pg_catalog.pg_class AS target ON target.oid = foreign_key.confrelid
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = target.relnamespace
    JOIN pg_catalog.pg_attribute AS attribute
        ON attribute.attrelid = foreign_key.confrelid AND attribute.attnum = pair.referred
    LEFT JOIN pg_catalog.pg_constraint AS whole
        ON whole.oid = foreign_key.conparentid AND whole.conrelid = foreign_key.conrelid
    WHERE foreign_key.contype = 'f' AND whole.oid IS NULL
    GROUP BY foreign_key.conrelid, pair.referring
), catalogue_index AS (
    SELECT
        part.indrelid AS relation,
        part.attnum,
        pg_catalog.bool_or(part.is_key AND part.indisprimary) AS is_pk,
        pg_catalog.bool_or(part.is_key AND part.indisunique AND NOT part.indisprimary) AS is_unique
    FROM (
        SELECT
            entry.indrelid,
            entry.indisprimary,
            entry.indisunique AND entry.indpred IS NULL AS indisunique,
            pg_catalog.unnest(entry.indkey::pg_catalog.int2[]) AS attnum,
            pg_catalog.generate_series(1, entry.indnatts) <= entry.indnkeyatts AS is_key
        FROM pg_catalog.pg_index AS entry
    ) AS part
    WHERE part.attnum > 0
    GROUP BY part.indrelid, part.attnum
)
SELECT
    namespace.nspname AS table_schema,
    relation.relname AS table_name,
    attribute.attname AS column_name,
    pg_catalog.format_type(attribute.atttypid, attribute.atttypmod) AS data_type,
    NOT attribute.attnotnull AS nullable,
    pg_catalog.col_description(relation.oid, attribute.attnum) AS description,
    COALESCE(indexed.is_pk, FALSE) AS is_pk,
    COALESCE(indexed.is_unique, FALSE) AS is_unique,
    foreign_key.fk_ref AS fk_ref,
    indexed.relation IS NOT NULL AS is_indexed,
    attribute.attidentity AS identity,
    pg_catalog.pg_get_expr(standard.adbin, standard.adrelid) AS default_value,
    kind.typname IN ('vector', 'halfvec', 'sparsevec') AS is_vector
FROM pg_catalog.pg_attribute AS attribute
JOIN pg_catalog.pg_class AS relation ON relation.oid = attribute.attrelid
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
JOIN pg_catalog.pg_type AS kind ON kind.oid = attribute.atttypid
LEFT JOIN pg_catalog.pg_attrdef AS standard
    ON standard.adrelid = attribute.attrelid AND standard.adnum = attribute.attnum
LEFT JOIN catalogue_index AS indexed
    ON indexed.relation = attribute.attrelid AND indexed.attnum = attribute.attnum
LEFT JOIN catalogue_foreign_key AS foreign_key
    ON foreign_key.relation = attribute.attrelid AND foreign_key.attnum = attribute.attnum
WHERE attribute.attnum > 0
    AND NOT attribute.attisdropped
    AND relation.relkind IN ('r', 'p', 'f', 'v', 'm')
    AND namespace.nspname <> 'information_schema'
    AND namespace.nspname NOT LIKE 'pg\_%'
    AND ($1::text IS NULL OR namespace.nspname = $1::text)
    AND ($2::text IS NULL OR relation.relname = $2::text)
    AND ($3::integer = 0 OR kind.typname IN ('vector', 'halfvec', 'sparsevec'))
ORDER BY namespace.nspname, relation.relname, attribute.attnum;
