-- Names of the items in the JSON list :list.
SELECT link_items.item, kind, link_names.key, name, link_items.path, space
FROM json_each(:list) AS wanted
CROSS JOIN link_items ON link_items.source = :source AND link_items.item = wanted.value
CROSS JOIN link_names INDEXED BY link_names_by_item ON link_names.item = link_items.number
LIMIT :most;
