-- The statements that run now in this database, the longest first; at most $1.
SELECT
    pid,
    usename AS role,
    application_name AS application,
    state,
    round(extract(epoch FROM clock_timestamp() - query_start)::numeric, 1) AS seconds,
    round(extract(epoch FROM clock_timestamp() - xact_start)::numeric, 1) AS transaction_seconds,
    CASE WHEN wait_event IS NULL THEN NULL ELSE wait_event_type || ': ' || wait_event END AS waits_for,
    array_to_string(pg_blocking_pids(pid), ', ') AS blocked_by,
    query
FROM pg_catalog.pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND (state IS NULL OR state <> 'idle') AND usename IS NOT NULL
ORDER BY query_start NULLS LAST
LIMIT $1::bigint;
