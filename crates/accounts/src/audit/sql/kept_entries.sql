-- The first :limit entries with their numbers.
SELECT
    id, at, user, key, client, transport, address, method, tool, sources, items, item_count,
    outcome, code, reason, arguments, count, bytes, ms
FROM entry
ORDER BY id
LIMIT :limit;
