-- The items of a source, their origins, and the folder that was imported, as `link_items` has it.
SELECT imported.item, imported.origin, coalesce(link_items.path, '') AS path, coalesce(space, '') AS space
FROM imported
LEFT JOIN link_items ON link_items.source = imported.source AND link_items.item = imported.item
WHERE imported.source = :source;
