-- Entries of :user, of the tool or method :tool, and not before :since, oldest first. NULL matches
-- every entry.
SELECT
    at, user, key, client, transport, address, method, tool, sources, items, item_count,
    outcome, code, reason, arguments, count, bytes, ms
FROM entry
WHERE (:user IS NULL OR user = :user)
    AND (:tool IS NULL OR tool = :tool OR method = :tool)
    AND (:since IS NULL OR at >= :since)
ORDER BY id;
