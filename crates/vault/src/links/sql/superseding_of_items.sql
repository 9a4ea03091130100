-- Links by which the items in the JSON list :list supersede others, or are superseded.
SELECT link_items.item, links.key, kind, target, fragment, link_items.path, space
FROM json_each(:list) AS wanted
CROSS JOIN link_items ON link_items.source = :source AND link_items.item = wanted.value
CROSS JOIN links INDEXED BY links_superseding
    ON links.item = link_items.number AND links.kind IN (11, 12)
ORDER BY wanted.key, kind, target
LIMIT :most;
