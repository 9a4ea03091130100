-- Indexes that no query has used since the statistics began, without those that other checks want:
-- the one that stays when a duplicate is dropped, and the index of a foreign key.
WITH since AS (
    SELECT coalesce(stats_reset, pg_postmaster_start_time()) AS begun
    FROM pg_catalog.pg_stat_database
    WHERE datname = current_database()
)
SELECT
    CASE WHEN relation.relpages::bigint * 8192 >= 1073741824 THEN 'warning' ELSE 'notice' END AS severity,
    format('%I.%I', stat.schemaname, stat.indexrelname) AS object,
    relation.relpages::bigint * 8192 AS measure,
    'bytes' AS unit,
    format('No query on this server has used the index %I.%I on %I since %s; it takes %s. Replicas may use it.',
        stat.schemaname, stat.indexrelname, stat.relname, date_trunc('minute', since.begun),
        pg_size_pretty(relation.relpages::bigint * 8192)) AS sentence,
    format('DROP INDEX CONCURRENTLY %I.%I;', stat.schemaname, stat.indexrelname) AS suggestion
FROM pg_catalog.pg_stat_user_indexes AS stat
JOIN pg_catalog.pg_index AS entry ON entry.indexrelid = stat.indexrelid
JOIN pg_catalog.pg_class AS relation ON relation.oid = stat.indexrelid
CROSS JOIN since
WHERE stat.idx_scan = 0
    AND NOT entry.indisunique AND entry.indisvalid
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint AS rule WHERE rule.conindid = stat.indexrelid)
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS part WHERE part.inhrelid = stat.indexrelid)
    AND relation.relpages::bigint * 8192 >= 1048576
    AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_index AS other
        WHERE other.indrelid = entry.indrelid AND other.indexrelid <> entry.indexrelid AND other.indisvalid
            AND NOT other.indisunique
            AND (other.indkey::text = entry.indkey::text
                OR starts_with(entry.indkey::text, other.indkey::text || ' '))
    )
    AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_constraint AS rule
        WHERE rule.conrelid = entry.indrelid AND rule.contype = 'f'
            AND NOT EXISTS (
                SELECT FROM pg_catalog.unnest(rule.conkey) AS part (number)
                WHERE part.number <> ALL ((entry.indkey::smallint[])[0:cardinality(rule.conkey) - 1])
            )
    )
ORDER BY measure DESC;
