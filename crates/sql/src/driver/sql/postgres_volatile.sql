-- Finds the volatile functions among the called ones (:schemas and :names, with NULL for no schema)
-- and among :attributes, since the attribute notation `t.f` calls `f(t)` if f takes a row.
-- `is_known` marks functions of the server or an extension. User-defined functions may have any
-- name.
WITH called AS (
    SELECT schema, name, FALSE AS is_attribute
    FROM unnest($1::text[], $2::text[]) AS function (schema, name)
    UNION ALL
    SELECT NULL, name, TRUE
    FROM unnest($3::text[]) AS attribute (name)
)
SELECT DISTINCT
    namespace.nspname::text AS schema,
    proc.proname::text AS name,
    namespace.nspname = 'pg_catalog' OR EXISTS (
        SELECT FROM pg_catalog.pg_depend AS part
        WHERE part.classid = 'pg_catalog.pg_proc'::regclass
            AND part.objid = proc.oid
            AND part.deptype = 'e'
    ) AS is_known
FROM called
JOIN pg_catalog.pg_proc AS proc ON proc.proname = called.name
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = proc.pronamespace
WHERE proc.provolatile = 'v'
    AND CASE
        WHEN called.schema IS NULL THEN namespace.nspname = ANY (current_schemas(TRUE))
        ELSE namespace.nspname = called.schema
    END
    AND (
        NOT called.is_attribute OR EXISTS (
            SELECT FROM pg_catalog.pg_type AS argument
            WHERE argument.oid = proc.proargtypes[0] AND argument.typtype IN ('c', 'p')
        )
    )
ORDER BY 1, 2;
