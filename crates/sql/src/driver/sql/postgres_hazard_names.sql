-- Finds the names by which a statement can reach the types $1: of each type, of the types and
-- relations that contain it, and of functions and operators that take or return it.
WITH RECURSIVE reached (type, origin) AS (
    SELECT type, type FROM unnest($1::oid[]) AS type
    UNION
    SELECT container.oid, reached.origin
    FROM reached
    CROSS JOIN LATERAL (
        SELECT oid FROM pg_type
        WHERE reached.type IN (typelem, typbasetype)
        UNION ALL
        SELECT class.reltype FROM pg_attribute AS attribute
        JOIN pg_class AS class ON class.oid = attribute.attrelid
        WHERE attribute.atttypid = reached.type AND class.reltype <> 0
        UNION ALL
        SELECT rngtypid FROM pg_range WHERE rngsubtype = reached.type
        UNION ALL
        SELECT (to_jsonb(range) ->> 'rngmultitypid')::oid FROM pg_range AS range
        WHERE range.rngtypid = reached.type
    ) AS container
    WHERE container.oid IS NOT NULL
)
SELECT DISTINCT reached.origin, lower(name.name) AS name
FROM reached
CROSS JOIN LATERAL (
    SELECT typname::text FROM pg_type WHERE oid = reached.type
    UNION ALL
    SELECT class.relname::text FROM pg_attribute AS attribute
    JOIN pg_class AS class ON class.oid = attribute.attrelid
    WHERE attribute.atttypid = reached.type
    UNION ALL
    SELECT proname::text FROM pg_proc
    WHERE prorettype = reached.type
        OR reached.type = ANY (proargtypes::oid[])
        OR reached.type = ANY (proallargtypes)
    UNION ALL
    SELECT oprname::text FROM pg_operator WHERE reached.type IN (oprleft, oprright, oprresult)
) AS name (name)
