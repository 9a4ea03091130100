-- Lists the items that were deleted since the last sync.
SELECT number, item AS id
FROM sync_items
WHERE
    source = '{source}'
    AND item IS NOT NULL
    AND stamp <> 'deleted'
    AND NOT EXISTS (
        SELECT 1 FROM {table}
        WHERE {table}.id = CAST(sync_items.item AS {id_affinity}) AND {live}
    )
LIMIT :limit;
