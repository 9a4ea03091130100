-- Sessions that wait for a row lock or a table lock of another session.
SELECT
    CASE WHEN seconds >= 60 THEN 'critical' ELSE 'warning' END AS severity,
    CONCAT('connection ', waiting) AS object,
    seconds AS measure,
    'seconds' AS unit,
    CONCAT('Connection ', waiting, ' has waited ', seconds, ' seconds for a row lock held by connection ', blocking, '.') AS sentence,
    CONCAT('KILL ', blocking, '; -- ends the session that blocks') AS suggestion
FROM (
    SELECT blocked.trx_mysql_thread_id AS waiting, blocker.trx_mysql_thread_id AS blocking,
        TIMESTAMPDIFF(SECOND, blocked.trx_wait_started, NOW()) AS seconds
    FROM information_schema.innodb_lock_waits AS pair
    JOIN information_schema.innodb_trx AS blocked ON blocked.trx_id = pair.requesting_trx_id
    JOIN information_schema.innodb_trx AS blocker ON blocker.trx_id = pair.blocking_trx_id
) AS waits
UNION ALL
SELECT CASE WHEN time >= 60 THEN 'critical' ELSE 'warning' END, CONCAT('connection ', id), time, 'seconds',
    CONCAT('Connection ', id, ' has waited ', time, ' seconds for a lock on a whole table.'), NULL
FROM information_schema.processlist
WHERE state LIKE 'Waiting for table%lock';
