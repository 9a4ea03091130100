-- Lists changes of clients since a time, newest first, without their differences.
SELECT number, source, item, version, changed_at, action, user, client, key, tool,
       NULL AS delta, length, fingerprint
FROM changes
WHERE
    source = :source
    AND changed_at >= :since
    AND action NOT IN ('imported', 'removed')
    AND tool NOT IN ('page', 'undo', 'import')
ORDER BY number DESC
LIMIT :limit;
