-- The statements of this database that took the most time, from pg_stat_statements; $1 of them.
-- Columns that some versions lack are read through JSON.
SELECT
    round((line.total_exec_time)::numeric, 1) AS total_ms,
    round((line.mean_exec_time)::numeric, 3) AS mean_ms,
    round((line.total_exec_time * 100 / greatest(sum(line.total_exec_time) OVER (), 0.001))::numeric, 1) AS percent,
    line.calls,
    line.rows,
    line.shared_blks_read AS blocks_read,
    pg_get_userbyid(line.userid) AS role,
    line.queryid::text AS id,
    line.query
FROM pg_stat_statements AS line
WHERE line.dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
ORDER BY line.total_exec_time DESC
LIMIT $1::bigint;
