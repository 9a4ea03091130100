-- Adds an entry.
INSERT INTO entry (
    at, user, key, client, transport, address, method, tool, sources, items, item_count,
    outcome, code, reason, arguments, count, bytes, ms
)
VALUES (
    :at, :user, :key, :client, :transport, :address, :method, :tool, :sources, :items, :item_count,
    :outcome, :code, :reason, :arguments, :count, :bytes, :ms
);
