-- Finds the functions that the server may call while it only parses a statement with the names $1
-- and the text $2, because it converts literals then: those in checks of domains and of ranges, and
-- input functions of types, unless they are C functions of the server or of an extension. With $3,
-- the statement may name any type in a literal.
WITH RECURSIVE mentioned (name) AS (
    SELECT word::name FROM unnest($1::text[]) AS word
), reached (type) AS (
    -- Types that the names mean, and those of the relations, functions and operators.
    SELECT type.oid FROM mentioned JOIN pg_type AS type ON type.typname = mentioned.name
    UNION
    SELECT class.reltype FROM mentioned JOIN pg_class AS class ON class.relname = mentioned.name
    UNION
    SELECT unnest(proc.prorettype || proc.proargtypes::oid[] || coalesce(proc.proallargtypes, '{}'))
    FROM mentioned JOIN pg_proc AS proc ON proc.proname = mentioned.name
    UNION
    SELECT unnest(ARRAY[oprleft, oprright, oprresult]) FROM pg_operator
    WHERE oid >= 16384 AND position(oprname::text IN $2::text) > 0
    UNION
    SELECT oid FROM pg_type WHERE $3::bool AND oid >= 16384
    UNION
    SELECT part.oid
    FROM reached
    CROSS JOIN LATERAL (
        SELECT unnest(ARRAY[typelem, typbasetype]) AS oid FROM pg_type
        WHERE pg_type.oid = reached.type
        UNION ALL
        SELECT attribute.atttypid FROM pg_type AS type
        JOIN pg_attribute AS attribute ON attribute.attrelid = type.typrelid
        WHERE type.oid = reached.type AND attribute.attnum > 0 AND NOT attribute.attisdropped
        UNION ALL
        SELECT rngsubtype FROM pg_range WHERE rngtypid = reached.type
        UNION ALL
        SELECT rngtypid FROM pg_range AS range
        WHERE (to_jsonb(range) ->> 'rngmultitypid')::oid = reached.type
    ) AS part
    WHERE part.oid >= 16384
)
SELECT DISTINCT proc.oid AS function, namespace.nspname::text AS schema, proc.proname::text AS name,
    called.is_input, format_type(reached.type, NULL) AS type_name
FROM reached
-- The offset has each type read by its index, however many are estimated.
CROSS JOIN LATERAL (
    SELECT match[2]::oid AS function, FALSE AS is_input
    FROM pg_constraint
    CROSS JOIN LATERAL regexp_matches(conbin::text, ':(funcid|opfuncid) (\d+)', 'g') AS match
    WHERE contypid = reached.type
    UNION ALL
    SELECT (SELECT oprcode FROM pg_operator WHERE oid = match[1]::oid), FALSE
    FROM pg_constraint
    CROSS JOIN LATERAL regexp_matches(conbin::text, ':opno (\d+)', 'g') AS match
    WHERE contypid = reached.type
    UNION ALL
    SELECT part.function, FALSE
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
    WHERE range.rngtypid = reached.type
    UNION ALL
    SELECT part.function, TRUE
    FROM pg_type AS type
    CROSS JOIN LATERAL (VALUES (type.typinput::oid), (type.typmodin::oid)) AS part (function)
    WHERE type.oid = reached.type AND part.function >= 16384
    OFFSET 0
) AS called
CROSS JOIN LATERAL (SELECT * FROM pg_proc WHERE pg_proc.oid = called.function OFFSET 0) AS proc
JOIN pg_namespace AS namespace ON namespace.oid = proc.pronamespace
WHERE reached.type >= 16384 AND (
    proc.provolatile = 'v'
    -- A language is recognised by its identifier, since it can be renamed: 12 `internal`, 13 `c`.
    OR proc.prolang NOT IN (12, 13)
    OR (
        proc.oid >= 16384 AND NOT EXISTS (
            SELECT FROM pg_depend
            WHERE classid = 'pg_proc'::regclass AND objid = proc.oid AND deptype = 'e'
        )
    )
)
