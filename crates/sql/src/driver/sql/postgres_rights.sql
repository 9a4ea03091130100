-- Reads the privileges of the current user in this database, regardless of the guard: its own, and
-- those of the roles that it is a member of.
WITH own_role AS (
    SELECT * FROM pg_catalog.pg_roles WHERE pg_has_role(oid, 'MEMBER')
), own_table AS (
    SELECT relation.oid, relation.relowner
    FROM pg_catalog.pg_class AS relation
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    WHERE relation.relkind IN ('r', 'p', 'f', 'v')
        AND namespace.nspname <> 'information_schema'
        AND namespace.nspname NOT LIKE 'pg\_%'
)
SELECT
    EXISTS (
        SELECT FROM own_table, own_role
        WHERE has_table_privilege(own_role.oid, own_table.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
            OR has_any_column_privilege(own_role.oid, own_table.oid, 'INSERT, UPDATE')
    ) OR EXISTS (SELECT FROM own_role WHERE rolname = 'pg_write_all_data') AS can_write,
    EXISTS (SELECT FROM own_role WHERE rolsuper) AS is_superuser,
    EXISTS (
        SELECT FROM own_role
        WHERE rolname IN (
            'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program'
        )
    ) AS can_use_files,
    EXISTS (
        SELECT FROM own_role WHERE has_database_privilege(oid, current_database(), 'CREATE')
    ) OR EXISTS (
        SELECT FROM pg_catalog.pg_namespace AS namespace, own_role
        WHERE nspname NOT LIKE 'pg\_%' AND has_schema_privilege(own_role.oid, namespace.oid, 'CREATE')
    ) AS can_create,
    EXISTS (
        SELECT FROM own_role
        WHERE rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
            OR rolname IN (
                'pg_signal_backend', 'pg_checkpoint', 'pg_maintain', 'pg_create_subscription',
                'pg_use_reserved_connections'
            )
    ) AS can_administer,
    EXISTS (
        SELECT FROM pg_catalog.pg_proc AS proc
        WHERE proc.prosecdef AND proc.provolatile = 'v' AND proc.oid >= 16384
            AND proc.prorettype <> 'trigger'::regtype
            AND has_function_privilege(proc.oid, 'EXECUTE')
    ) AS can_call_definers,
    EXISTS (SELECT FROM own_table WHERE pg_has_role(relowner, 'MEMBER')) AS owns_tables;
