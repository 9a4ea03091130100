-- Links with a key in the JSON list :list and one of :kinds.
SELECT links.item, kind, links.key, target, fragment, position, context
FROM json_each(:list) AS wanted
CROSS JOIN links INDEXED BY links_by_key
    ON links.key = wanted.value AND links.source = :source
WHERE :kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds))
ORDER BY links.item, number
LIMIT :most;
