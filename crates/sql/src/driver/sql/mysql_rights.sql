-- Reads the privileges of the current user, regardless of the guard.
WITH granted AS (
    SELECT grantee, privilege_type FROM information_schema.user_privileges
    UNION ALL
    SELECT grantee, privilege_type FROM information_schema.schema_privileges
    WHERE DATABASE() LIKE table_schema
    UNION ALL
    SELECT grantee, privilege_type FROM information_schema.table_privileges
    WHERE table_schema = DATABASE()
), own AS (
    SELECT privilege_type FROM granted
    WHERE grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')
)
SELECT
    EXISTS (SELECT 1 FROM own WHERE privilege_type IN ('INSERT', 'UPDATE', 'DELETE')) AS can_write,
    EXISTS (SELECT 1 FROM own WHERE privilege_type = 'SUPER') AS is_superuser,
    EXISTS (SELECT 1 FROM own WHERE privilege_type = 'FILE') AS can_use_files,
    EXISTS (SELECT 1 FROM own WHERE privilege_type = 'CREATE') AS can_create;
