-- All names of the items of a source.
SELECT link_items.item, kind, link_names.key, name, link_items.path, space
FROM link_names
CROSS JOIN link_items ON link_items.number = link_names.item
WHERE link_names.key & 7 = :number
LIMIT :most;
