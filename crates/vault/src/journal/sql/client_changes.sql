-- Lists changes of clients since a time, newest first, without their differences. Reads the changes since that
-- time only.
SELECT number, source, item, version, changed_at, action, user, client, key, tool,
       NULL AS delta, length, fingerprint
FROM changes INDEXED BY changes_by_time
WHERE
    source = :source
    AND changed_at >= :since
    AND action NOT IN ('imported', 'removed')
    AND tool NOT IN ('page', 'undo', 'import')
ORDER BY changed_at DESC, number DESC
LIMIT :limit;
