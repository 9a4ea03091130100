-- Transactions that have been open for at least $1 seconds, and old prepared transactions.
WITH open AS (
    SELECT pid, state, extract(epoch FROM clock_timestamp() - xact_start) AS seconds,
        extract(epoch FROM clock_timestamp() - state_change) AS idle
    FROM pg_catalog.pg_stat_activity
    WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        AND datname = current_database()
)
SELECT
    CASE WHEN seconds >= 3600 THEN 'warning' ELSE 'notice' END AS severity,
    format('process %s', pid) AS object,
    round(seconds) AS measure,
    'seconds' AS unit,
    format('The transaction of process %s has been open for %s seconds%s; VACUUM cannot remove rows that it may still see.',
        pid, round(seconds),
        CASE WHEN state LIKE 'idle in transaction%' THEN format(' and idle for the last %s', round(idle)) ELSE '' END) AS sentence,
    CASE WHEN state LIKE 'idle in transaction%' THEN format('SELECT pg_terminate_backend(%s);', pid)
        ELSE format('SELECT pg_cancel_backend(%s);', pid) END AS suggestion
FROM open
WHERE seconds >= $1::bigint
UNION ALL
SELECT 'warning', format('prepared transaction %L', gid), round(extract(epoch FROM clock_timestamp() - prepared)), 'seconds',
    format('The prepared transaction %L has waited for COMMIT PREPARED for %s seconds; it holds its locks.', gid,
        round(extract(epoch FROM clock_timestamp() - prepared))),
    format('ROLLBACK PREPARED %L; -- or COMMIT PREPARED', gid)
FROM pg_catalog.pg_prepared_xacts
WHERE extract(epoch FROM clock_timestamp() - prepared) >= $1::bigint AND database = current_database()
UNION ALL
SELECT 'hidden', 'sessions', count(*), 'sessions',
    format('%s sessions of other users are not visible to this role; it needs pg_monitor (GRANT pg_monitor TO %I).', count(*), current_user),
    NULL
FROM pg_catalog.pg_stat_activity
WHERE usename IS NOT NULL AND query = '<insufficient privilege>' AND datname = current_database()
HAVING count(*) > 0
ORDER BY measure DESC;
