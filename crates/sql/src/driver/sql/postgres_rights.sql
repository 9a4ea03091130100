-- Reads the privileges of the current user in this database, regardless of the guard.
WITH own_table AS (
    SELECT relation.oid, relation.relowner
    FROM pg_catalog.pg_class AS relation
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    WHERE relation.relkind IN ('r', 'p', 'f')
        AND namespace.nspname <> 'information_schema'
        AND namespace.nspname NOT LIKE 'pg\_%'
)
SELECT
    EXISTS (
        SELECT FROM own_table
        WHERE has_table_privilege(oid, 'INSERT')
            OR has_table_privilege(oid, 'UPDATE')
            OR has_table_privilege(oid, 'DELETE')
            OR has_table_privilege(oid, 'TRUNCATE')
    ) AS can_write,
    (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) AS is_superuser,
    pg_has_role('pg_read_server_files', 'MEMBER')
        OR pg_has_role('pg_write_server_files', 'MEMBER')
        OR pg_has_role('pg_execute_server_program', 'MEMBER') AS can_use_files,
    has_database_privilege(current_database(), 'CREATE') OR EXISTS (
        SELECT FROM pg_catalog.pg_namespace
        WHERE nspname NOT LIKE 'pg\_%' AND has_schema_privilege(oid, 'CREATE')
    ) AS can_create,
    EXISTS (SELECT FROM own_table WHERE pg_has_role(relowner, 'USAGE')) AS owns_tables;
