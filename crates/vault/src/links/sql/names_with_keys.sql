-- Names with a key in the JSON list :list.
SELECT link_names.item, kind, link_names.key, name, link_names.path, space
FROM json_each(:list) AS wanted
CROSS JOIN link_names INDEXED BY link_names_by_key
    ON link_names.key = wanted.value AND link_names.source = :source
LIMIT :most;
