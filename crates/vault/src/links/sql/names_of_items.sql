-- Names of the items in the JSON list :list.
SELECT link_names.item, kind, link_names.key, name, link_names.path, space
FROM json_each(:list) AS wanted
CROSS JOIN link_names ON link_names.source = :source AND link_names.item = wanted.value
LIMIT :most;
