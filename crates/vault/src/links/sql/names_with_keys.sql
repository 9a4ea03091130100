-- Names with a key in the JSON list :list.
SELECT link_items.item, kind, link_names.key, name, link_items.path, space
FROM json_each(:list) AS wanted
CROSS JOIN link_names ON link_names.key = wanted.value
CROSS JOIN link_items ON link_items.number = link_names.item
LIMIT :most;
