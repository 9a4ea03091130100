-- Which of the functions :names count as volatile, and whether they came with
-- the server or an extension: a function that somebody wrote may have any name.
SELECT DISTINCT
    called.name,
    proc.proname::text AS function,
    namespace.nspname = 'pg_catalog' OR EXISTS (
        SELECT FROM pg_catalog.pg_depend AS part
        WHERE part.classid = 'pg_catalog.pg_proc'::regclass
            AND part.objid = proc.oid
            AND part.deptype = 'e'
    ) AS is_known
FROM unnest($1::text[]) AS called (name)
CROSS JOIN LATERAL (SELECT parse_ident(called.name, false) AS parts) AS path
JOIN pg_catalog.pg_proc AS proc ON proc.proname = path.parts[cardinality(path.parts)]
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = proc.pronamespace
WHERE proc.provolatile = 'v'
    AND CASE
        WHEN cardinality(path.parts) = 1 THEN namespace.nspname = ANY (current_schemas(true))
        ELSE namespace.nspname = path.parts[cardinality(path.parts) - 1]
    END
ORDER BY 1;
