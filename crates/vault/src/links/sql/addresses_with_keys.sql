-- Items with the web addresses that have a key in the JSON list :list. Addresses in more than :most_items
-- items are left out, unless it is NULL.
SELECT link_items.item, link_addresses.key, :kind AS kind, '' AS target, '' AS fragment, link_items.path, space
FROM json_each(:list) AS wanted
CROSS JOIN link_addresses ON link_addresses.key = wanted.value
CROSS JOIN link_items ON link_items.number = link_addresses.item
WHERE :most_items IS NULL OR (
    SELECT count(*)
    FROM (
        SELECT 1 FROM link_addresses AS other WHERE other.key = wanted.value LIMIT :most_items + 1
    )
) <= :most_items
ORDER BY link_addresses.item
LIMIT :most;
