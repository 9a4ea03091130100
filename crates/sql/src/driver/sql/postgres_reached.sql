-- Follows what a statement calls through the catalogs. The parse tree of the statement names the
-- functions $1, operators $2, relations $3, the types $4 of values that it makes and the types $5 of
-- values that it only reads; its views are expanded in it. The bodies of its functions name the
-- relations $6. Returned is every function that running the statement can call, except for what the
-- allowed functions $7 and the trusted functions $8 call.
--
-- Kinds: `f` function, `i` input or output function of a type, `o` operator, `v` relation whose view
-- is not expanded yet, `r` relation, `t` type of which values are made, `u` type of which values are
-- read, `h` handler of an access method or support function of its indexes, `w` wrapper of the foreign
-- table `via`, `d` function whose body changes data.
WITH RECURSIVE reached (kind, oid, via) AS (
    SELECT 'f', oid, NULL::text FROM unnest($1::oid[]) AS oid
    UNION
    SELECT 'o', oid, NULL FROM unnest($2::oid[]) AS oid
    UNION
    SELECT 'r', oid, NULL FROM unnest($3::oid[]) AS oid
    UNION
    SELECT 't', oid, NULL FROM unnest($4::oid[]) AS oid
    UNION
    SELECT 'u', oid, NULL FROM unnest($5::oid[]) AS oid
    UNION
    SELECT 'v', oid, NULL FROM unnest($6::oid[]) AS oid
    UNION
    SELECT next.kind, next.oid, next.via
    FROM reached
    CROSS JOIN LATERAL (
        -- Functions: aggregates, and the parsed bodies and defaults of the users' functions.
        SELECT 'f' AS kind, part.oid::oid AS oid, NULL::text AS via
        FROM pg_aggregate AS aggregate
        CROSS JOIN LATERAL (
            VALUES (aggtransfn), (aggfinalfn), (aggcombinefn), (aggserialfn), (aggdeserialfn),
                (aggmtransfn), (aggminvtransfn), (aggmfinalfn)
        ) AS part (oid)
        WHERE reached.kind = 'f' AND aggregate.aggfnoid = reached.oid
        UNION ALL
        SELECT 'o', aggsortop, NULL FROM pg_aggregate
        WHERE reached.kind = 'f' AND aggfnoid = reached.oid
        UNION ALL
        -- The planner may replace an operator by its commutator or negator.
        SELECT 'f', oprcode::oid, NULL FROM pg_operator
        WHERE reached.kind = 'o' AND pg_operator.oid = reached.oid
        UNION ALL
        SELECT 'o', part.oid, NULL FROM pg_operator
        CROSS JOIN LATERAL (VALUES (oprcom), (oprnegate)) AS part (oid)
        WHERE reached.kind = 'o' AND pg_operator.oid = reached.oid AND reached.oid >= 16384
        UNION ALL
        -- Sorting and hashing call the functions of the operator's family.
        SELECT 'h', support.amproc::oid, NULL FROM pg_amop AS strategy
        JOIN pg_amproc AS support ON support.amprocfamily = strategy.amopfamily
        WHERE reached.kind = 'o' AND strategy.amopopr = reached.oid
            AND strategy.amopfamily >= 16384 AND strategy.amopmethod IN (403, 405)
            -- Of several families of an operator, the server takes the one that it has itself.
            AND NOT EXISTS (
                SELECT FROM pg_amop AS own
                WHERE own.amopopr = strategy.amopopr AND own.amopmethod = strategy.amopmethod
                    AND own.amopfamily < 16384
            )
        UNION ALL
        -- Relations: partitions, access methods, foreign data wrappers, composite row types.
        SELECT 'v', inhrelid, NULL FROM pg_inherits
        WHERE reached.kind IN ('r', 'v') AND inhparent = reached.oid
        UNION ALL
        SELECT 'h', method.amhandler::oid, NULL FROM pg_class AS class
        JOIN pg_am AS method ON method.oid = class.relam
        WHERE reached.kind IN ('r', 'v') AND class.oid = reached.oid
        UNION ALL
        SELECT 'h', method.amhandler::oid, NULL FROM pg_index AS index
        JOIN pg_class AS class ON class.oid = index.indexrelid
        JOIN pg_am AS method ON method.oid = class.relam
        WHERE reached.kind IN ('r', 'v') AND index.indrelid = reached.oid
            AND reached.oid >= 16384
        UNION ALL
        SELECT 'h', support.amproc::oid, NULL FROM pg_index AS index
        JOIN pg_opclass AS class ON class.oid = ANY (index.indclass::oid[])
        JOIN pg_amproc AS support ON support.amprocfamily = class.opcfamily
        WHERE reached.kind IN ('r', 'v') AND index.indrelid = reached.oid
            AND reached.oid >= 16384 AND class.oid >= 16384
        UNION ALL
        -- Planning compares values with the bounds of partitions.
        SELECT 'h', support.amproc::oid, NULL FROM pg_partitioned_table AS partitioned
        JOIN pg_opclass AS class ON class.oid = ANY (partitioned.partclass::oid[])
        JOIN pg_amproc AS support ON support.amprocfamily = class.opcfamily
        WHERE reached.kind IN ('r', 'v') AND partitioned.partrelid = reached.oid
            AND class.oid >= 16384
        UNION ALL
        SELECT 'w', wrapper.fdwhandler::oid, reached.oid::regclass::text
        FROM pg_foreign_table AS foreign_table
        JOIN pg_foreign_server AS server ON server.oid = foreign_table.ftserver
        JOIN pg_foreign_data_wrapper AS wrapper ON wrapper.oid = server.srvfdw
        WHERE reached.kind IN ('r', 'v') AND foreign_table.ftrelid = reached.oid
        UNION ALL
        -- Types: elements, attributes, bases; the functions of ranges, casts to JSON and text,
        -- default orders and hashes, which functions of any type find by the type of their value.
        SELECT reached.kind, part.oid, NULL FROM pg_type AS type
        CROSS JOIN LATERAL (VALUES (type.typelem), (type.typbasetype)) AS part (oid)
        WHERE reached.kind IN ('t', 'u') AND type.oid = reached.oid AND reached.oid >= 16384
        UNION ALL
        SELECT reached.kind, attribute.atttypid, NULL FROM pg_type AS type
        JOIN pg_attribute AS attribute ON attribute.attrelid = type.typrelid
        WHERE reached.kind IN ('t', 'u') AND type.oid = reached.oid AND reached.oid >= 16384
            AND attribute.attnum > 0 AND NOT attribute.attisdropped
        UNION ALL
        SELECT 'i', part.oid::oid, NULL FROM pg_type AS type
        CROSS JOIN LATERAL (
            VALUES (typoutput::oid), (typmodout::oid),
                ((to_jsonb(type) ->> 'typsubscript')::regproc::oid)
        ) AS part (oid)
        WHERE reached.kind IN ('t', 'u') AND type.oid = reached.oid AND reached.oid >= 16384
        UNION ALL
        SELECT 'i', part.oid::oid, NULL FROM pg_type AS type
        CROSS JOIN LATERAL (VALUES (typinput::oid), (typmodin::oid)) AS part (oid)
        WHERE reached.kind = 't' AND type.oid = reached.oid AND reached.oid >= 16384
        UNION ALL
        SELECT reached.kind, rngsubtype, NULL FROM pg_range AS range
        WHERE reached.kind IN ('t', 'u') AND reached.oid >= 16384
            AND reached.oid IN (rngtypid, (to_jsonb(range) ->> 'rngmultitypid')::oid)
        UNION ALL
        SELECT 'f', part.oid::oid, NULL FROM pg_range AS range
        LEFT JOIN pg_opclass AS class ON class.oid = range.rngsubopc
        LEFT JOIN pg_amproc AS support ON support.amprocfamily = class.opcfamily
        CROSS JOIN LATERAL (
            VALUES (rngcanonical::oid), (rngsubdiff::oid), (support.amproc::oid)
        ) AS part (oid)
        WHERE reached.kind IN ('t', 'u') AND reached.oid >= 16384
            AND reached.oid IN (rngtypid, (to_jsonb(range) ->> 'rngmultitypid')::oid)
        UNION ALL
        SELECT 'f', castfunc, NULL FROM pg_cast
        WHERE reached.kind IN ('t', 'u') AND castsource = reached.oid AND reached.oid >= 16384
            AND casttarget IN ('json'::regtype, 'jsonb'::regtype, 'text'::regtype)
        UNION ALL
        SELECT 'h', support.amproc::oid, NULL FROM pg_opclass AS class
        JOIN pg_amproc AS support ON support.amprocfamily = class.opcfamily
        WHERE reached.kind IN ('t', 'u') AND class.opcintype = reached.oid AND class.oid >= 16384
            AND class.opcdefault
        UNION ALL
        SELECT 'o', strategy.amopopr, NULL FROM pg_opclass AS class
        JOIN pg_amop AS strategy ON strategy.amopfamily = class.opcfamily
        WHERE reached.kind IN ('t', 'u') AND class.opcintype = reached.oid AND class.oid >= 16384
            AND class.opcdefault
        UNION ALL
        -- Expressions that are stored as parse trees.
        SELECT found.kind, found.oid, NULL
        FROM (
            SELECT stored.tree
            FROM pg_proc AS proc
            CROSS JOIN LATERAL (
                VALUES (to_jsonb(proc) ->> 'prosqlbody'), (proc.proargdefaults::text)
            ) AS stored (tree)
            WHERE reached.kind = 'f' AND proc.oid = reached.oid AND proc.oid >= 16384
                AND proc.proname::text <> ALL ($7::text[])
                AND proc.pronamespace::regnamespace::text || '.' || proc.proname <> ALL ($7)
                AND proc.oid <> ALL ($8::oid[])
            UNION ALL
            SELECT ev_action::text FROM pg_rewrite
            WHERE reached.kind = 'v' AND ev_class = reached.oid AND ev_type = '1'
            UNION ALL
            SELECT polqual::text FROM pg_policy
            WHERE reached.kind = 'v' AND polrelid = reached.oid AND polcmd IN ('r', '*')
            UNION ALL
            SELECT conbin::text FROM pg_constraint
            WHERE reached.kind = 't' AND contypid = reached.oid AND reached.oid >= 16384
            UNION ALL
            -- The predicate of an index may be checked again for the rows that the index finds.
            SELECT indpred::text FROM pg_index
            WHERE reached.kind IN ('r', 'v') AND indrelid = reached.oid AND reached.oid >= 16384
            UNION ALL
            SELECT adbin::text FROM pg_attrdef
            JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
            WHERE reached.kind IN ('r', 'v') AND adrelid = reached.oid
                AND attgenerated NOT IN ('', 's')
            UNION ALL
            -- Planning computes only the parts of these that depend on no column, after it has put
            -- the bodies of SQL functions in place of their calls. Such a part has an innermost
            -- node without arguments, or with constants only. First, calls of the server's own
            -- functions with constants become constants, at three levels.
            SELECT planned.tree
            FROM (
                SELECT indexprs::text AS tree FROM pg_index
                WHERE reached.kind IN ('r', 'v') AND indrelid = reached.oid AND reached.oid >= 16384
                UNION ALL
                SELECT conbin::text FROM pg_constraint
                WHERE reached.kind IN ('r', 'v') AND conrelid = reached.oid AND reached.oid >= 16384
                UNION ALL
                SELECT partexprs::text FROM pg_partitioned_table
                WHERE reached.kind IN ('r', 'v') AND partrelid = reached.oid
                UNION ALL
                SELECT to_jsonb(statistics) ->> 'stxexprs' FROM pg_statistic_ext AS statistics
                WHERE reached.kind IN ('r', 'v') AND stxrelid = reached.oid
            ) AS planned
            CROSS JOIN LATERAL (
                SELECT '\{(FUNCEXPR :funcid \d{1,4} |OPEXPR :opno \d{1,4} :opfuncid \d{1,4} |ARRAYEXPR |RELABELTYPE )'
                    || '[^{}]*(:args <>|:(args|elements) \((\{CONST [^{}]*\} ?)+\)|:arg \{CONST [^{}]*\})[^{}]*\}' AS call
            ) AS server
            CROSS JOIN LATERAL (
                SELECT regexp_replace(planned.tree, server.call, '{CONST }', 'g') AS tree
            ) AS once
            CROSS JOIN LATERAL (
                SELECT regexp_replace(once.tree, server.call, '{CONST }', 'g') AS tree
            ) AS twice
            CROSS JOIN LATERAL (
                SELECT regexp_replace(twice.tree, server.call, '{CONST }', 'g') AS tree
            ) AS reduced
            WHERE reduced.tree ~ ':\w+ \{CONST |:\w+ \((\{CONST [^{}]*\} ?)+\)|:args <>'
                OR EXISTS (
                    SELECT FROM regexp_matches(planned.tree, ':(funcid|opfuncid) (\d+)', 'g') AS match
                    JOIN pg_proc AS called ON called.oid = match[2]::oid
                    WHERE called.oid >= 16384 AND called.prolang = 14
                )
        ) AS stored
        CROSS JOIN LATERAL (
            SELECT
                CASE
                    WHEN match[1] IN ('opno', 'eqop', 'sortop', 'cycle_mark_neop') THEN 'o'
                    WHEN match[1] = 'relid' THEN 'v'
                    WHEN match[1] IN ('vartype', 'consttype') THEN 'u'
                    WHEN match[1] ~* 'type' THEN 't'
                    ELSE 'f'
                END AS kind,
                match[2]::oid AS oid
            FROM regexp_matches(
                stored.tree,
                ':(funcid|opfuncid|aggfnoid|winfnoid|tsmhandler|startInRangeFunc|endInRangeFunc'
                '|opno|eqop|sortop|cycle_mark_neop|relid|\w*type|\w*type_?id) (\d+)',
                'gi'
            ) AS match
            UNION ALL
            SELECT 'o', operator::oid
            FROM regexp_matches(stored.tree, ':opnos \(o ([\d ]+)\)', 'g') AS match
            CROSS JOIN LATERAL regexp_split_to_table(match[1], ' ') AS operator
            UNION ALL
            -- A body that changes data is not a read, whatever it calls.
            SELECT 'd', reached.oid FROM regexp_matches(stored.tree, ':commandType [^1]')
        ) AS found
    ) AS next
    WHERE next.oid <> 0
)
SELECT
    reached.kind,
    proc.oid,
    namespace.nspname::text AS schema,
    proc.proname::text AS name,
    -- By identifier or handler, since a language can be renamed.
    CASE
        WHEN proc.prolang = 12 THEN 'internal'
        WHEN proc.prolang = 13 THEN 'c'
        WHEN proc.prolang = 14 THEN 'sql'
        WHEN EXISTS (
            SELECT FROM pg_language AS language
            JOIN pg_proc AS handler ON handler.oid = language.lanplcallfoid
            WHERE language.oid = proc.prolang AND handler.prolang = 13
                AND handler.prosrc = 'plpgsql_call_handler'
                AND handler.probin IN ('$libdir/plpgsql', 'plpgsql')
        ) THEN 'plpgsql'
        ELSE 'other'
    END AS language,
    proc.prosrc AS source,
    proc.provolatile = 'v' AS is_volatile,
    proc.prokind = 'a' AS is_aggregate,
    proc.oid >= 16384 AS is_user_defined,
    owner.rolsuper AND EXISTS (
        SELECT FROM pg_depend
        WHERE classid = 'pg_proc'::regclass AND objid = proc.oid AND deptype = 'e'
    ) AS is_extension,
    -- Only the order in which names are looked up may change while a function runs.
    CASE
        WHEN cardinality(proc.proconfig) = 1 AND starts_with(proc.proconfig[1], 'search_path=')
            THEN substr(proc.proconfig[1], length('search_path=') + 1)
    END AS search_path,
    proc.proconfig IS NOT NULL AS has_settings,
    to_jsonb(proc) ->> 'prosqlbody' IS NOT NULL AS has_parsed_body,
    ARRAY(SELECT format_type(type, NULL) FROM unnest(proc.proargtypes::oid[]) AS type)
        AS argument_types,
    ARRAY(
        SELECT (SELECT typtype = 'c' FROM pg_type WHERE pg_type.oid = argument.type)
        FROM unnest(proc.proargtypes::oid[]) WITH ORDINALITY AS argument (type, place)
        ORDER BY place
    ) AS argument_is_row,
    CASE
        WHEN proc.proargmodes IS NULL THEN proc.proargnames
        ELSE ARRAY(
            SELECT coalesce(proc.proargnames[place], '') FROM generate_subscripts(proc.proargmodes, 1) AS place
            WHERE proc.proargmodes[place] IN ('i', 'b', 'v')
        )
    END AS argument_names,
    reached.via
FROM reached
-- The limit has each function read by its index, however many are estimated.
CROSS JOIN LATERAL (SELECT * FROM pg_proc WHERE pg_proc.oid = reached.oid LIMIT 1) AS proc
JOIN pg_namespace AS namespace ON namespace.oid = proc.pronamespace
JOIN pg_roles AS owner ON owner.oid = proc.proowner
WHERE reached.kind IN ('f', 'i', 'h', 'w', 'd')
ORDER BY reached.kind, schema, name
