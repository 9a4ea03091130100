-- Lag of replicas, slots that keep old WAL files, and failed archiving.
SELECT
    CASE WHEN sent >= 1073741824 THEN 'warning' WHEN sent >= 104857600 THEN 'notice' ELSE 'ok' END AS severity,
    name AS object,
    sent AS measure,
    'bytes' AS unit,
    format('The replica %s (%s, %s) is %s behind.', name, state, sync_state, pg_size_pretty(sent)) AS sentence,
    NULL AS suggestion
FROM (
    SELECT coalesce(application_name, pid::text) AS name, state, sync_state,
        pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END, replay_lsn) AS sent
    FROM pg_catalog.pg_stat_replication
    WHERE replay_lsn IS NOT NULL
) AS replica
UNION ALL
SELECT
    CASE WHEN wal_status = 'lost' THEN 'critical' WHEN kept >= 10737418240 THEN 'critical'
        WHEN kept >= 1073741824 THEN 'warning' ELSE 'notice' END,
    format('slot %I', slot_name), kept, 'bytes',
    CASE wal_status WHEN 'lost' THEN format('The replication slot %I has lost WAL files that it needs; its consumer must be set up again.', slot_name)
        ELSE format('The replication slot %I has no consumer and keeps %s of WAL files, without end if the disk is large enough.', slot_name, pg_size_pretty(kept)) END,
    format('SELECT pg_drop_replication_slot(%L); -- if its consumer does not come back', slot_name)
FROM (
    SELECT slot_name, wal_status, active,
        pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn) AS kept
    FROM pg_catalog.pg_replication_slots
) AS slot
WHERE NOT active OR wal_status = 'lost'
UNION ALL
SELECT
    CASE WHEN seconds >= 3600 THEN 'warning' WHEN seconds >= 300 THEN 'notice' ELSE 'ok' END,
    'this server', round(seconds), 'seconds',
    format('This server is a replica; the last change that it applied is %s seconds old.', round(seconds)),
    NULL
FROM (SELECT extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) AS seconds) AS standby
WHERE pg_is_in_recovery() AND seconds IS NOT NULL
UNION ALL
SELECT 'critical', 'archiver', failed_count, 'failures',
    format('Archiving of WAL files fails: %s failed at %s; %s failures so far.', last_failed_wal,
        date_trunc('second', last_failed_time), failed_count),
    '-- correct archive_command; WAL files stay on disk until it succeeds'
FROM pg_catalog.pg_stat_archiver
WHERE last_failed_time > coalesce(last_archived_time, '-infinity')
UNION ALL
SELECT 'hidden', 'replicas', count(*), 'replicas',
    format('The lag of %s replicas is not visible to this role; it needs pg_monitor (GRANT pg_monitor TO %I).', count(*), current_user),
    NULL
FROM pg_catalog.pg_stat_replication
WHERE state IS NULL AND NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
HAVING count(*) > 0;
