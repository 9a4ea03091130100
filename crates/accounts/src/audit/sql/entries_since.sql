-- The entries that are not before :since.
SELECT
    at, user, key, client, transport, address, method, tool, sources, items, item_count,
    outcome, code, reason, arguments, count, bytes, ms
FROM entry
WHERE at >= :since;
