-- Settings of MariaDB that endanger data or leave the server without statistics.
SELECT 'notice' AS severity, 'innodb_flush_log_at_trx_commit' AS object, NULL AS measure, NULL AS unit,
    'innodb_flush_log_at_trx_commit is not 1: a crash can lose the last committed transactions.' AS sentence,
    'SET GLOBAL innodb_flush_log_at_trx_commit = 1; -- and in the settings file' AS suggestion
FROM DUAL
WHERE @@global.innodb_flush_log_at_trx_commit <> 1
UNION ALL
SELECT 'warning', 'innodb_doublewrite', NULL, NULL,
    'innodb_doublewrite is off: a crash while a page is written can corrupt it.',
    '-- set innodb_doublewrite = ON in the settings file and restart'
FROM DUAL
WHERE @@global.innodb_doublewrite IN ('0', 'OFF')
UNION ALL
SELECT 'notice', 'performance_schema', NULL, NULL,
    'performance_schema is off: top statements and unused indexes are not known.',
    '-- set performance_schema = ON in the settings file and restart'
FROM DUAL
WHERE @@global.performance_schema = 0;
