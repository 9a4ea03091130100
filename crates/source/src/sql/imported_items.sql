-- Selects those of the items in the JSON list :items that were imported, with their origins, files last. An item
-- written in the library has the digest :own_digest. Without statistics, SQLite would read all items of the
-- source by the primary key.
SELECT imported.item, imported.origin
FROM json_each(:items) AS wanted
CROSS JOIN imported INDEXED BY imported_by_item
    ON imported.source = :source AND imported.item = wanted.value
WHERE imported.digest <> :own_digest
ORDER BY imported.origin GLOB 'file:*', imported.origin DESC;
