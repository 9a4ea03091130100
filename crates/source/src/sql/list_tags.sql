-- Tags of the items with an identifier in the JSON list :ids, with the number of these items.
SELECT {keywords}.keyword AS tag, count(*) AS items
FROM json_each(:ids) AS item
CROSS JOIN {links} ON {links}.{item} = item.value
JOIN {keywords} ON {keywords}.id = {links}.keyword_id AND {keywords}.deleted = 0
GROUP BY {keywords}.id;
