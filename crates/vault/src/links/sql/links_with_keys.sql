-- Links with a key in the JSON list :list and one of :kinds, but for web addresses.
SELECT link_items.item, links.key, kind, target, fragment, link_items.path, space
FROM json_each(:list) AS wanted
CROSS JOIN links ON links.key = wanted.value
CROSS JOIN link_items ON link_items.number = links.item
WHERE :kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds))
ORDER BY links.item, kind, target, fragment
LIMIT :most;
