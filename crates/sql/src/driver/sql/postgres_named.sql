-- Finds every object that the body of the function $3 may use, whatever its names mean where it runs:
-- all functions, relations and types, of any schema, that have one of the names $1; the operators of
-- users and extensions whose symbol is in the text $2 or stands for a keyword; and the casts between
-- the types of all values that the body can have.
WITH RECURSIVE word (name) AS (
    SELECT DISTINCT word::name FROM unnest($1::text[]) AS word
), implicit_target (type) AS (
    SELECT casttarget FROM pg_cast WHERE castcontext = 'i'
), operator AS MATERIALIZED (
    SELECT candidate.oid, oprleft, oprright, oprresult,
        -- The server takes such an operator only for a value of one of its types: literals and values
        -- of other types have an operator of the server with this symbol, and no value becomes one of
        -- a type without its name. Rows become composite types, and bases become domains.
        oprname IN (
            '=', '<>', '<', '>', '<=', '>=', '||',
            '~~', '!~~', '~~*', '!~~*', '~', '!~', '~*', '!~*'
        )
        AND NOT EXISTS (
            SELECT FROM (VALUES (oprleft), (oprright)) AS operand (type)
            LEFT JOIN pg_type AS type ON type.oid = operand.type
            LEFT JOIN pg_type AS element ON element.oid = type.typelem
            WHERE operand.type < 16384
                OR operand.type IN (SELECT implicit_target.type FROM implicit_target)
                OR type.typtype NOT IN ('b', 'e', 'r', 'm', 'c')
                OR type.typtype = 'c' AND oprname NOT IN ('=', '<>', '<', '>', '<=', '>=')
                OR element.typtype NOT IN ('b', 'e', 'r', 'm')
        ) AS is_found_by_type
    FROM pg_operator AS candidate
    WHERE candidate.oid >= 16384 AND (
        position(oprname::text IN $2::text) > 0
        OR oprname IN (
            '=', '<>', '<', '>', '<=', '>=', '~~', '!~~', '~~*', '!~~*', '~', '!~', '~*', '!~*'
        )
    )
), used (kind, oid) AS (
    SELECT 'function', $3::oid
    UNION
    SELECT 'function', proc.oid FROM word JOIN pg_proc AS proc ON proc.proname = word.name
    UNION
    SELECT 'relation', class.oid FROM word JOIN pg_class AS class ON class.relname = word.name
    UNION
    SELECT 'type', type.oid FROM word JOIN pg_type AS type ON type.typname = word.name
    UNION
    SELECT 'operator', oid FROM operator WHERE NOT is_found_by_type
    UNION
    SELECT 'type', casttarget FROM pg_cast
    WHERE castcontext = 'i' AND castsource < 16384 AND casttarget >= 16384
    UNION
    SELECT next.kind, next.oid
    FROM used
    CROSS JOIN LATERAL (
        -- What views read, since it may be the statistics of columns.
        SELECT 'relation' AS kind, match[1]::oid AS oid FROM pg_rewrite AS rule
        CROSS JOIN LATERAL regexp_matches(rule.ev_action::text, ':relid (\d+)', 'g') AS match
        WHERE used.kind = 'relation' AND rule.ev_class = used.oid AND rule.ev_type = '1'
        UNION ALL
        SELECT 'type', reltype FROM pg_class WHERE used.kind = 'relation' AND pg_class.oid = used.oid
        UNION ALL
        SELECT 'type', unnest(prorettype || proargtypes::oid[] || coalesce(proallargtypes, '{}'))
        FROM pg_proc WHERE used.kind = 'function' AND pg_proc.oid = used.oid
        UNION ALL
        SELECT 'type', unnest(ARRAY[oprleft, oprright, oprresult])
        FROM operator WHERE used.kind = 'operator' AND operator.oid = used.oid
        UNION ALL
        SELECT 'operator', operator.oid
        FROM operator WHERE used.kind = 'type' AND used.oid IN (oprleft, oprright)
        UNION ALL
        SELECT 'type', unnest(ARRAY[typelem, typbasetype, typarray])
        FROM pg_type WHERE used.kind = 'type' AND pg_type.oid = used.oid
        UNION ALL
        SELECT 'type', attribute.atttypid FROM pg_type AS type
        JOIN pg_attribute AS attribute ON attribute.attrelid = type.typrelid
        WHERE used.kind = 'type' AND type.oid = used.oid
            AND attribute.attnum > 0 AND NOT attribute.attisdropped
        UNION ALL
        SELECT 'type', rngsubtype FROM pg_range
        WHERE used.kind = 'type'
            AND used.oid IN (rngtypid, (to_jsonb(pg_range) ->> 'rngmultitypid')::oid)
        UNION ALL
        SELECT 'type', casttarget FROM pg_cast
        WHERE used.kind = 'type' AND castsource = used.oid AND castcontext = 'i'
    ) AS next
    -- Values of the types of the server call nothing else.
    WHERE next.kind <> 'type' OR next.oid >= 16384
)
SELECT kind, oid FROM used WHERE (kind, oid) <> ('function', $3) AND (kind <> 'type' OR oid >= 16384)
UNION ALL
SELECT 'function', castfunc FROM pg_cast
WHERE castfunc >= 16384 AND (
    castsource IN (SELECT oid FROM used WHERE kind = 'type')
    OR casttarget IN (SELECT oid FROM used WHERE kind = 'type')
    OR castsource < 16384 AND casttarget < 16384
)
