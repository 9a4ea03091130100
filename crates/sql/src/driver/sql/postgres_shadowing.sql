-- Asks whether a statement with the names $1 and the text $2 may mean anything in the schemas of
-- `search_path` instead of what it means in pg_catalog. Everything here is qualified, since this is
-- asked with that path.
SELECT
    (pg_catalog.current_schemas(TRUE))[1] OPERATOR(pg_catalog.<>) 'pg_catalog'
    OR EXISTS (
        SELECT FROM pg_catalog.pg_namespace AS namespace
        WHERE namespace.nspname OPERATOR(pg_catalog.<>) 'pg_catalog'
            AND namespace.nspname OPERATOR(pg_catalog.=) ANY (pg_catalog.current_schemas(TRUE))
            AND (
                EXISTS (
                    SELECT FROM pg_catalog.pg_proc AS proc
                    WHERE proc.pronamespace OPERATOR(pg_catalog.=) namespace.oid
                        AND proc.proname OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.name[])
                )
                OR EXISTS (
                    SELECT FROM pg_catalog.pg_operator AS operator
                    WHERE operator.oprnamespace OPERATOR(pg_catalog.=) namespace.oid
                        AND operator.oprleft OPERATOR(pg_catalog.<) 16384::pg_catalog.oid
                        AND operator.oprright OPERATOR(pg_catalog.<) 16384::pg_catalog.oid
                        AND pg_catalog.strpos($2::pg_catalog.text, operator.oprname::pg_catalog.text)
                            OPERATOR(pg_catalog.>) 0
                )
            )
    ) AS is_shadowed
