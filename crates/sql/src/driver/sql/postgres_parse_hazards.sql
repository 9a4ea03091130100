-- Finds the functions that the server calls while it only parses a statement, because it converts
-- literals then: in checks of domains, of ranges, and input functions of types. Returned are those
-- that are not C functions of the server or of an extension.
WITH called (type, function) AS (
    SELECT contypid, match[2]::oid
    FROM pg_constraint
    CROSS JOIN LATERAL regexp_matches(conbin::text, ':(funcid|opfuncid) (\d+)', 'g') AS match
    WHERE contypid <> 0
    UNION ALL
    SELECT contypid, (SELECT oprcode FROM pg_operator WHERE oid = match[1]::oid)
    FROM pg_constraint
    CROSS JOIN LATERAL regexp_matches(conbin::text, ':opno (\d+)', 'g') AS match
    WHERE contypid <> 0
    UNION ALL
    SELECT range.rngtypid, function
    FROM pg_range AS range
    CROSS JOIN LATERAL (
        SELECT range.rngcanonical::oid
        UNION ALL
        SELECT range.rngsubdiff::oid
        UNION ALL
        SELECT support.amproc::oid FROM pg_opclass AS class
        JOIN pg_amproc AS support ON support.amprocfamily = class.opcfamily
        WHERE class.oid = range.rngsubopc
    ) AS part (function)
    WHERE range.rngtypid >= 16384
    UNION ALL
    SELECT type.oid, function
    FROM pg_type AS type
    CROSS JOIN LATERAL (VALUES (type.typinput::oid), (type.typmodin::oid)) AS part (function)
    WHERE type.oid >= 16384 AND part.function >= 16384
)
SELECT DISTINCT
    called.type,
    namespace.nspname::text AS schema,
    proc.proname::text AS name,
    format_type(called.type, NULL) AS type_name
FROM called
JOIN pg_proc AS proc ON proc.oid = called.function
JOIN pg_namespace AS namespace ON namespace.oid = proc.pronamespace
WHERE proc.provolatile = 'v'
    -- A language is recognised by its identifier, since it can be renamed: 12 `internal`, 13 `c`.
    OR proc.prolang NOT IN (12, 13)
    OR (
        proc.oid >= 16384 AND NOT EXISTS (
            SELECT FROM pg_depend
            WHERE classid = 'pg_proc'::regclass AND objid = proc.oid AND deptype = 'e'
        )
    )
