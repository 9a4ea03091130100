-- Sessions that wait for a row lock, with the sessions that hold it.
SELECT
    blocked.trx_mysql_thread_id AS pid,
    TIMESTAMPDIFF(SECOND, blocked.trx_wait_started, NOW()) AS seconds,
    blocked.trx_query AS query,
    blocker.trx_mysql_thread_id AS blocked_by,
    TIMESTAMPDIFF(SECOND, blocker.trx_started, NOW()) AS blocking_seconds,
    blocker.trx_query AS blocking_query
FROM information_schema.innodb_lock_waits AS pair
JOIN information_schema.innodb_trx AS blocked ON blocked.trx_id = pair.requesting_trx_id
JOIN information_schema.innodb_trx AS blocker ON blocker.trx_id = pair.blocking_trx_id
ORDER BY seconds DESC
LIMIT ?;
