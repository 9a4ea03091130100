-- Tables with many dead rows, with stale statistics, or excluded from autovacuum.
WITH tables AS (
    SELECT
        format('%I.%I', stat.schemaname, stat.relname) AS object,
        stat.n_live_tup AS live,
        stat.n_dead_tup AS dead,
        stat.n_mod_since_analyze AS changed,
        greatest(stat.last_vacuum, stat.last_autovacuum) AS vacuumed,
        greatest(stat.last_analyze, stat.last_autoanalyze) AS analyzed,
        relation.reloptions::text ~ 'autovacuum_enabled=(false|off|0|no)' AS is_excluded
    FROM pg_catalog.pg_stat_user_tables AS stat
    JOIN pg_catalog.pg_class AS relation ON relation.oid = stat.relid
)
SELECT
    CASE WHEN dead >= live AND dead >= 100000 THEN 'warning' ELSE 'notice' END AS severity,
    object,
    dead AS measure,
    'rows' AS unit,
    format('%s has %s dead rows and %s live ones; the last vacuum was %s.', object, dead, live,
        coalesce('at ' || date_trunc('second', vacuumed)::text, 'never')) AS sentence,
    format('VACUUM (ANALYZE) %s;', object) AS suggestion
FROM tables
WHERE dead >= 10000 AND dead >= 0.2 * live
UNION ALL
SELECT 'notice', object, changed, 'rows',
    format('%s of %s rows of %s changed since its statistics were taken (%s); plans may be bad.', changed,
        live, object, coalesce('at ' || date_trunc('second', analyzed)::text, 'never')),
    format('ANALYZE %s;', object)
FROM tables
WHERE changed >= 10000 AND changed >= 0.5 * live
UNION ALL
SELECT 'notice', object, live, 'rows',
    format('Autovacuum is switched off for %s; its dead rows stay until a person runs VACUUM.', object),
    format('ALTER TABLE %s RESET (autovacuum_enabled);', object)
FROM tables
WHERE is_excluded
ORDER BY measure DESC;
