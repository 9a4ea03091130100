-- Version, size and age of the database, and the use of its connections.
WITH figures AS (
    SELECT
        pg_catalog.current_setting('server_version') AS version,
        pg_catalog.pg_database_size(pg_catalog.current_database()) AS bytes,
        extract(epoch FROM pg_catalog.now() - pg_catalog.pg_postmaster_start_time()) AS uptime,
        (SELECT sum(numbackends) FROM pg_catalog.pg_stat_database) AS used,
        pg_catalog.current_setting('max_connections')::numeric AS most,
        stat.xact_commit AS committed,
        stat.xact_rollback AS rolled_back,
        stat.deadlocks,
        stat.temp_bytes
    FROM pg_catalog.pg_stat_database AS stat
    WHERE stat.datname = pg_catalog.current_database()
)
SELECT 'ok' AS severity, 'database' AS object, bytes AS measure, 'bytes' AS unit,
    format('PostgreSQL %s, up for %s hours; the database takes %s.', version,
        round(uptime / 3600.0, 1), pg_size_pretty(bytes)) AS sentence,
    NULL AS suggestion
FROM figures
UNION ALL
SELECT
    CASE WHEN used >= 0.95 * most THEN 'critical' WHEN used >= 0.8 * most THEN 'warning' ELSE 'ok' END,
    'connections', round(100 * used / most, 1), 'percent',
    format('%s of %s connections are in use.', used, most),
    CASE WHEN used >= 0.8 * most
        THEN '-- put a connection pool in front of the server, or raise max_connections and restart' END
FROM figures
UNION ALL
SELECT
    CASE WHEN rolled_back >= 1000 AND rolled_back > 0.2 * (committed + rolled_back)
        THEN 'notice' ELSE 'ok' END,
    'transactions', round(100.0 * rolled_back / greatest(committed + rolled_back, 1), 1), 'percent',
    format('%s transactions were committed, %s rolled back and %s ended in a deadlock since the statistics began; temporary files took %s.',
        committed, rolled_back, deadlocks, pg_size_pretty(temp_bytes)),
    NULL
FROM figures;
