-- Sessions that wait for a lock, with the sessions that hold it; at most $1.
SELECT
    waiting.pid,
    waiting.usename AS role,
    round(extract(epoch FROM clock_timestamp() - waiting.state_change)::numeric, 1) AS seconds,
    (
        SELECT string_agg(DISTINCT coalesce(
            CASE WHEN lock.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
                THEN lock.relation::regclass::text END, lock.locktype) || ' ' || lock.mode, ', ')
        FROM pg_catalog.pg_locks AS lock
        WHERE lock.pid = waiting.pid AND NOT lock.granted
    ) AS wanted,
    waiting.query,
    blocking.pid AS blocked_by,
    blocking.usename AS blocking_role,
    blocking.state AS blocking_state,
    round(extract(epoch FROM clock_timestamp() - blocking.xact_start)::numeric, 1) AS blocking_seconds,
    blocking.query AS blocking_query
FROM pg_catalog.pg_stat_activity AS waiting
JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS blocker (pid) ON TRUE
LEFT JOIN pg_catalog.pg_stat_activity AS blocking ON blocking.pid = blocker.pid
WHERE waiting.datname = current_database()
ORDER BY seconds DESC NULLS LAST
LIMIT $1::bigint;
