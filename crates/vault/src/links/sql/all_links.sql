-- All links of a source, but for web addresses, with the places of their items.
SELECT link_items.item, links.key, kind, target, fragment, link_items.path, space
FROM links
CROSS JOIN link_items ON link_items.number = links.item
WHERE links.key & 7 = :number
ORDER BY links.item
LIMIT :most;
