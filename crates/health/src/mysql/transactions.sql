-- Transactions that have been open for at least the given seconds.
SELECT
    CASE WHEN seconds >= 3600 THEN 'warning' ELSE 'notice' END AS severity,
    CONCAT('connection ', id) AS object,
    seconds AS measure,
    'seconds' AS unit,
    CONCAT('The transaction of connection ', id, ' has been open for ', seconds, ' seconds and has changed ', changed,
        ' rows; the server keeps old versions of rows for it.') AS sentence,
    CONCAT('KILL ', id, ';') AS suggestion
FROM (
    SELECT trx_mysql_thread_id AS id, TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS seconds, trx_rows_modified AS changed
    FROM information_schema.innodb_trx
    WHERE trx_mysql_thread_id <> CONNECTION_ID() AND trx_mysql_thread_id > 0
) AS open
WHERE seconds >= ?
ORDER BY seconds DESC;
