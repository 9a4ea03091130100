-- The statements of this database that took the most time, from performance_schema.
SELECT
    ROUND(sum_timer_wait / 1000000000, 1) AS total_ms,
    ROUND(avg_timer_wait / 1000000000, 3) AS mean_ms,
    count_star AS calls,
    sum_rows_sent AS `rows`,
    sum_rows_examined AS rows_examined,
    sum_no_index_used AS calls_without_index,
    digest AS id,
    digest_text AS query
FROM performance_schema.events_statements_summary_by_digest
WHERE schema_name = DATABASE() AND digest_text IS NOT NULL
ORDER BY sum_timer_wait DESC
LIMIT ?;
