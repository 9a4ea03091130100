-- Sessions that wait for a lock of another session.
WITH waiting AS (
    SELECT
        activity.pid,
        pg_catalog.pg_blocking_pids(activity.pid) AS blockers,
        extract(epoch FROM clock_timestamp() - activity.state_change) AS seconds,
        (
            SELECT relation::regclass::text FROM pg_catalog.pg_locks AS lock
            WHERE lock.pid = activity.pid AND NOT lock.granted AND lock.relation IS NOT NULL
                AND lock.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
            LIMIT 1
        ) AS relation
    FROM pg_catalog.pg_stat_activity AS activity
    WHERE activity.datname = current_database()
        AND cardinality(pg_catalog.pg_blocking_pids(activity.pid)) > 0
)
SELECT
    CASE WHEN seconds >= 60 THEN 'critical' ELSE 'warning' END AS severity,
    format('process %s', pid) AS object,
    round(seconds, 1) AS measure,
    'seconds' AS unit,
    format('Process %s %s for a lock%s held by process %s.', pid,
        coalesce(format('has waited %s seconds', round(seconds, 1)), 'waits'),
        coalesce(' on ' || relation, ''), array_to_string(blockers, ', ')) AS sentence,
    format('SELECT pg_cancel_backend(%s); -- ends the statement of the first session that blocks', blockers[1]) AS suggestion
FROM waiting
ORDER BY measure DESC NULLS LAST;
