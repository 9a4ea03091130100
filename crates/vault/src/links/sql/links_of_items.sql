-- Links of the items in the JSON list :list with one of :kinds, in the order of their texts.
SELECT links.item, kind, links.key, target, fragment, position, context
FROM json_each(:list) AS wanted
CROSS JOIN links ON links.source = :source AND links.item = wanted.value
WHERE :kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds))
ORDER BY wanted.key, number
LIMIT :most;
