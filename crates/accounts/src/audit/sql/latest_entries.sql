-- Up to :limit entries of :user, of the tool or method :tool, and not before :since, newest first,
-- after leaving out those of the transport :without and then :offset more. NULL matches every entry.
SELECT
    at, user, key, client, transport, address, method, tool, sources, items, item_count,
    outcome, code, reason, arguments, count, bytes, ms
FROM entry
WHERE (:user IS NULL OR user = :user)
    AND (:tool IS NULL OR tool = :tool OR method = :tool)
    AND (:since IS NULL OR at >= :since)
    AND transport IS NOT :without
ORDER BY id DESC
LIMIT :limit OFFSET :offset;
