SELECT 'view', table_schema, table_name, view_definition, definer, ''
FROM information_schema.views
WHERE table_schema = {schema} AND table_name IN ({names})
UNION ALL
SELECT
    CASE WHEN table_schema = 'mysql' THEN 'password table' ELSE 'table' END,
    table_schema,
    table_name,
    engine,
    '',
    ''
FROM information_schema.tables
WHERE table_schema = {schema} AND table_name IN ({names})
    AND (
        engine IN ('FEDERATED', 'CONNECT', 'SPIDER', 'S3', 'OQGRAPH', 'SPHINX')
        OR table_schema = 'mysql' AND table_name IN (
            'user', 'global_priv', 'password_history', 'servers', 'slave_master_info',
            'slave_relay_log_info'
        )
    )
