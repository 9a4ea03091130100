-- Settings that endanger data or keep the server from cleaning up.
SELECT
    CASE WHEN name IN ('fsync', 'autovacuum') THEN 'critical' ELSE 'warning' END AS severity,
    name AS object,
    NULL AS measure,
    NULL AS unit,
    CASE name
        WHEN 'fsync' THEN 'fsync is off: a crash of the machine can destroy the whole server''s data.'
        WHEN 'full_page_writes' THEN 'full_page_writes is off: a crash while a page is written can corrupt it.'
        WHEN 'autovacuum' THEN 'autovacuum is off: dead rows and old transaction numbers are cleaned up only by hand.'
        ELSE 'track_counts is off: autovacuum does not work without it, and most checks see nothing.'
    END AS sentence,
    format('ALTER SYSTEM SET %I = on; SELECT pg_reload_conf();', name) AS suggestion
FROM pg_catalog.pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'autovacuum', 'track_counts')
    AND setting = 'off'
ORDER BY name;
