-- Share of the pages that the buffer pool had in memory.
SELECT
    CASE WHEN 100 * missed / asked > 20 THEN 'warning' ELSE 'notice' END AS severity,
    'buffer pool' AS object,
    ROUND(100 - 100 * missed / asked, 1) AS measure,
    'percent' AS unit,
    CONCAT('Only ', ROUND(100 - 100 * missed / asked, 1), '% of the pages came from the buffer pool; ', missed,
        ' were read from disk.') AS sentence,
    '-- raise innodb_buffer_pool_size, or reduce the rows read with advise_indexes' AS suggestion
FROM (
    SELECT
        CAST((SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_buffer_pool_read_requests') AS SIGNED) AS asked,
        CAST((SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_buffer_pool_reads') AS SIGNED) AS missed
) AS figures
WHERE missed >= 10000 AND missed > 0.1 * asked;
