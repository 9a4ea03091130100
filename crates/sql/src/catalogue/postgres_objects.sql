-- Lists what the columns of the schema $1 and the table $2, each only if it is given, do not show:
-- labels of enums, domains, constraints, partitions, triggers, generated columns, foreign tables and
-- sequences; without a table also functions and extensions. Of each partitioned table, lists the
-- first 20 partitions. Members of extensions are excluded.
WITH catalogue_relation AS (
    SELECT
        relation.oid,
        relation.relkind,
        relation.relname,
        namespace.nspname
    FROM pg_catalog.pg_class AS relation
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    WHERE relation.relkind IN ('r', 'p', 'f', 'v', 'm')
        AND namespace.nspname <> 'information_schema'
        AND namespace.nspname NOT LIKE 'pg\_%'
        AND ($1::text IS NULL OR namespace.nspname = $1::text)
        AND ($2::text IS NULL OR relation.relname = $2::text)
), catalogue_column AS (
    SELECT
        relation.nspname,
        relation.relname,
        attribute.attrelid,
        attribute.attnum,
        attribute.attname,
        attribute.attgenerated,
        kind.oid AS type_oid,
        kind.typtype,
        kind.typbasetype,
        kind.typnotnull,
        kind.typtypmod,
        base.oid AS base_oid
    FROM catalogue_relation AS relation
    JOIN pg_catalog.pg_attribute AS attribute ON attribute.attrelid = relation.oid
    JOIN pg_catalog.pg_type AS declared ON declared.oid = attribute.atttypid
    -- The type of the elements, for an array.
    JOIN pg_catalog.pg_type AS kind
        ON kind.oid = CASE
            WHEN declared.typelem <> 0 AND declared.typlen = -1 THEN declared.typelem
            ELSE declared.oid
        END
    LEFT JOIN pg_catalog.pg_type AS base
        ON base.oid = COALESCE(NULLIF(kind.typbasetype, 0), kind.oid)
    WHERE attribute.attnum > 0 AND NOT attribute.attisdropped
)
SELECT
    1 AS place,
    field.nspname AS table_schema,
    field.relname AS table_name,
    field.attname AS column_name,
    'enum' AS kind,
    pg_catalog.format_type(field.base_oid, NULL) AS name,
    pg_catalog.string_agg(
        pg_catalog.quote_literal(label.enumlabel), ', ' ORDER BY label.enumsortorder
    ) AS definition
FROM catalogue_column AS field
JOIN pg_catalog.pg_enum AS label ON label.enumtypid = field.base_oid
GROUP BY field.nspname, field.relname, field.attnum, field.attname, field.base_oid
UNION ALL
SELECT
    2,
    field.nspname,
    field.relname,
    field.attname,
    'domain',
    pg_catalog.format_type(field.type_oid, NULL),
    pg_catalog.format_type(field.typbasetype, field.typtypmod)
        || CASE WHEN field.typnotnull THEN ' NOT NULL' ELSE '' END
        || COALESCE(
            (
                SELECT ' ' || pg_catalog.string_agg(
                    pg_catalog.pg_get_constraintdef(entry.oid), ' ' ORDER BY entry.conname
                )
                FROM pg_catalog.pg_constraint AS entry
                WHERE entry.contypid = field.type_oid AND entry.contype = 'c'
            ),
            ''
        )
FROM catalogue_column AS field
WHERE field.typtype = 'd'
UNION ALL
SELECT
    3,
    field.nspname,
    field.relname,
    field.attname,
    'generated',
    CASE field.attgenerated WHEN 's' THEN 'stored' ELSE 'virtual' END,
    pg_catalog.pg_get_expr(standard.adbin, standard.adrelid)
FROM catalogue_column AS field
JOIN pg_catalog.pg_attrdef AS standard
    ON standard.adrelid = field.attrelid AND standard.adnum = field.attnum
WHERE field.attgenerated <> ''
UNION ALL
-- A key of one column is a flag of the column.
SELECT
    4,
    relation.nspname,
    relation.relname,
    NULL,
    CASE entry.contype
        WHEN 'c' THEN 'check'
        WHEN 'f' THEN 'foreign key'
        WHEN 'p' THEN 'primary key'
        WHEN 'u' THEN 'unique'
        ELSE 'exclusion'
    END,
    entry.conname,
    pg_catalog.pg_get_constraintdef(entry.oid)
FROM catalogue_relation AS relation
JOIN pg_catalog.pg_constraint AS entry ON entry.conrelid = relation.oid
WHERE entry.conparentid = 0
    AND (
        entry.contype IN ('c', 'f', 'x')
        OR (entry.contype IN ('p', 'u') AND pg_catalog.cardinality(entry.conkey) > 1)
    )
UNION ALL
SELECT
    5,
    relation.nspname,
    relation.relname,
    NULL,
    'partitioned',
    relation.relname,
    pg_catalog.pg_get_partkeydef(relation.oid) || ', partitions: ' || (
        SELECT pg_catalog.count(*)
        FROM pg_catalog.pg_inherits AS child
        WHERE child.inhparent = relation.oid
    )
FROM catalogue_relation AS relation
WHERE relation.relkind = 'p'
UNION ALL
SELECT
    6,
    child.nspname,
    child.relname,
    NULL,
    'partition',
    child.partition_name,
    child.bounds
FROM (
    SELECT
        relation.nspname,
        relation.relname,
        partition.relname AS partition_name,
        pg_catalog.pg_get_expr(partition.relpartbound, partition.oid) AS bounds,
        pg_catalog.row_number() OVER (
            PARTITION BY relation.oid ORDER BY partition.relname
        ) AS number
    FROM catalogue_relation AS relation
    JOIN pg_catalog.pg_inherits AS entry ON entry.inhparent = relation.oid
    JOIN pg_catalog.pg_class AS partition ON partition.oid = entry.inhrelid
    WHERE partition.relispartition
) AS child
WHERE child.number <= 20
UNION ALL
SELECT
    7,
    relation.nspname,
    relation.relname,
    NULL,
    'foreign table',
    server.srvname,
    'wrapper ' || wrapper.fdwname
FROM catalogue_relation AS relation
JOIN pg_catalog.pg_foreign_table AS entry ON entry.ftrelid = relation.oid
JOIN pg_catalog.pg_foreign_server AS server ON server.oid = entry.ftserver
JOIN pg_catalog.pg_foreign_data_wrapper AS wrapper ON wrapper.oid = server.srvfdw
UNION ALL
SELECT
    8,
    relation.nspname,
    relation.relname,
    NULL,
    'trigger',
    entry.tgname,
    pg_catalog.pg_get_triggerdef(entry.oid, TRUE)
        || CASE entry.tgenabled WHEN 'D' THEN ' (disabled)' ELSE '' END
FROM catalogue_relation AS relation
JOIN pg_catalog.pg_trigger AS entry ON entry.tgrelid = relation.oid
WHERE NOT entry.tgisinternal AND entry.tgparentid = 0
UNION ALL
SELECT
    9,
    namespace.nspname,
    owner.relname,
    attribute.attname,
    'sequence',
    relation.relname,
    pg_catalog.format_type(entry.seqtypid, NULL) || ', ' || entry.seqmin || ' to ' || entry.seqmax
        || ', step ' || entry.seqincrement || CASE WHEN entry.seqcycle THEN ', cycles' ELSE '' END
FROM pg_catalog.pg_sequence AS entry
JOIN pg_catalog.pg_class AS relation ON relation.oid = entry.seqrelid
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
LEFT JOIN pg_catalog.pg_depend AS owned
    ON owned.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
    AND owned.objid = relation.oid
    AND owned.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
    AND owned.refobjsubid > 0
    AND owned.deptype IN ('a', 'i')
LEFT JOIN pg_catalog.pg_class AS owner ON owner.oid = owned.refobjid
LEFT JOIN pg_catalog.pg_attribute AS attribute
    ON attribute.attrelid = owned.refobjid AND attribute.attnum = owned.refobjsubid
WHERE namespace.nspname NOT LIKE 'pg\_%'
    AND ($1::text IS NULL OR namespace.nspname = $1::text)
    AND ($2::text IS NULL OR owner.relname = $2::text)
UNION ALL
SELECT
    10,
    namespace.nspname,
    NULL,
    NULL,
    CASE routine.prokind
        WHEN 'p' THEN 'procedure'
        WHEN 'a' THEN 'aggregate'
        WHEN 'w' THEN 'window function'
        ELSE 'function'
    END,
    routine.proname || '(' || pg_catalog.pg_get_function_identity_arguments(routine.oid) || ')',
    COALESCE('returns ' || pg_catalog.pg_get_function_result(routine.oid) || ', ', '')
        || language.lanname || CASE routine.provolatile
            WHEN 'i' THEN ', immutable'
            WHEN 's' THEN ', stable'
            ELSE ', volatile'
        END || CASE WHEN routine.prosecdef THEN ', security definer' ELSE '' END
FROM pg_catalog.pg_proc AS routine
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = routine.pronamespace
JOIN pg_catalog.pg_language AS language ON language.oid = routine.prolang
WHERE $2::text IS NULL
    AND namespace.nspname <> 'information_schema'
    AND namespace.nspname NOT LIKE 'pg\_%'
    AND ($1::text IS NULL OR namespace.nspname = $1::text)
    AND NOT EXISTS (
        SELECT 1
        FROM pg_catalog.pg_depend AS member
        WHERE member.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
            AND member.objid = routine.oid
            AND member.deptype = 'e'
    )
UNION ALL
SELECT
    11,
    namespace.nspname,
    NULL,
    NULL,
    'extension',
    entry.extname,
    'version ' || entry.extversion
FROM pg_catalog.pg_extension AS entry
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = entry.extnamespace
WHERE $2::text IS NULL AND ($1::text IS NULL OR namespace.nspname = $1::text)
ORDER BY 1, 2, 3, 4, 6;
