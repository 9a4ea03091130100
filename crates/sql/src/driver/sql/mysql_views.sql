SELECT 'view', table_schema, table_name, view_definition, definer, ''
FROM information_schema.views
WHERE table_schema = {schema} AND table_name IN ({names})
UNION ALL
SELECT
    CASE
        WHEN engine IN ('FEDERATED', 'CONNECT', 'SPIDER', 'S3', 'OQGRAPH', 'SPHINX') THEN 'table'
        WHEN table_schema = 'mysql' AND table_name NOT IN ('general_log', 'slow_log') THEN 'password table'
        ELSE 'statement table'
    END,
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
            'slave_relay_log_info', 'general_log', 'slow_log'
        )
        OR table_schema = 'information_schema'
            AND table_name IN ('innodb_trx', 'processlist', 'query_cache_info')
        OR table_schema = 'performance_schema' AND table_name IN (
            'events_statements_current', 'events_statements_history',
            'events_statements_history_long', 'events_statements_summary_by_digest',
            'prepared_statements_instances', 'processlist', 'threads', 'user_variables_by_thread'
        )
        OR table_schema = 'sys' AND table_name IN (
            'innodb_lock_waits', 'processlist', 'schema_table_lock_waits', 'session',
            'x$innodb_lock_waits', 'x$processlist', 'x$schema_table_lock_waits', 'x$session'
        )
    )
