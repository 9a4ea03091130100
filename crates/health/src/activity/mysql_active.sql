-- The statements that run now, the longest first.
SELECT
    id AS pid,
    user AS role,
    db AS `database`,
    command AS state,
    time AS seconds,
    state AS waits_for,
    info AS query
FROM information_schema.processlist
WHERE command NOT IN ('Sleep', 'Daemon', 'Binlog Dump') AND id <> CONNECTION_ID()
ORDER BY time DESC
LIMIT ?;
