-- Version, size and age of the server, and the use of its connections.
SELECT 'ok' AS severity, 'database' AS object, COALESCE(SUM(data_length + index_length), 0) AS measure, 'bytes' AS unit,
    CONCAT('Version ', VERSION(), ', up for ',
        (SELECT ROUND(variable_value / 3600, 1) FROM information_schema.global_status WHERE variable_name = 'Uptime'),
        ' hours; the database takes ', ROUND(COALESCE(SUM(data_length + index_length), 0) / 1048576, 1), ' MB.') AS sentence,
    NULL AS suggestion
FROM information_schema.tables
WHERE table_schema = DATABASE()
UNION ALL
SELECT
    CASE WHEN used >= 0.95 * most THEN 'critical' WHEN used >= 0.8 * most THEN 'warning' ELSE 'ok' END,
    'connections', ROUND(100 * used / most, 1), 'percent',
    CONCAT(used, ' of ', most, ' connections are in use.'),
    CASE WHEN used >= 0.8 * most THEN '-- put a connection pool in front of the server, or raise max_connections' END
FROM (
    SELECT
        CAST((SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Threads_connected') AS SIGNED) AS used,
        CAST((SELECT variable_value FROM information_schema.global_variables WHERE variable_name = 'max_connections') AS SIGNED) AS most
) AS figures;
