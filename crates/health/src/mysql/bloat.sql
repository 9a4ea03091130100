-- Unused space in the files of the tables, as the server estimates it.
SELECT
    CASE WHEN data_free >= 1073741824 THEN 'warning' ELSE 'notice' END AS severity,
    CONCAT('`', table_schema, '`.`', table_name, '`') AS object,
    data_free AS measure,
    'bytes' AS unit,
    CONCAT('The file of the table ', table_name, ' has ', ROUND(data_free / 1048576, 1), ' MB of unused space (',
        ROUND(100 * data_free / (data_length + index_length + data_free), 1), '%).') AS sentence,
    CONCAT('OPTIMIZE TABLE `', REPLACE(table_schema, '`', '``'), '`.`', REPLACE(table_name, '`', '``'),
        '`; -- rebuilds the table') AS suggestion
FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'
    AND data_free >= 16777216 AND data_free > 0.4 * (data_length + index_length + data_free)
ORDER BY data_free DESC;
