-- Share of blocks that the server found in its own cache, for the database and its busiest tables.
WITH reads AS (
    SELECT 'database' AS object, blks_hit AS hit, blks_read AS missed, 0 AS place
    FROM pg_catalog.pg_stat_database
    WHERE datname = pg_catalog.current_database()
    UNION ALL
    SELECT format('%I.%I', schemaname, relname), heap_blks_hit + coalesce(idx_blks_hit, 0),
        heap_blks_read + coalesce(idx_blks_read, 0), 1
    FROM pg_catalog.pg_statio_user_tables
), share AS (
    SELECT object, missed, place, round(100.0 * hit / greatest(hit + missed, 1), 1) AS percent
    FROM reads
    WHERE missed >= 10000
)
SELECT
    CASE WHEN percent < 80 THEN 'warning' ELSE 'notice' END AS severity,
    object,
    percent AS measure,
    'percent' AS unit,
    format('Only %s%% of the blocks of %s came from the cache; %s were read from the operating system.',
        percent, CASE place WHEN 0 THEN 'this database' ELSE object END, missed) AS sentence,
    CASE place WHEN 0
        THEN '-- raise shared_buffers (now ' || pg_catalog.current_setting('shared_buffers') || '), or reduce the rows read with advise_indexes'
    END AS suggestion
FROM share
WHERE percent < 90
ORDER BY place, missed DESC;
