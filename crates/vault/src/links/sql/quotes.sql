-- The quotes of a source, which have the key :key.
SELECT link_items.item, links.key, kind, target, fragment
FROM links
CROSS JOIN link_items ON link_items.number = links.item
WHERE links.key = :key
LIMIT :most;
