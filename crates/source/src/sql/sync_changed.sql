-- Lists the items after row :after that were changed since the last sync, in the order of their rows.
SELECT
    {table}.{row} AS row, CAST({table}.id AS TEXT) AS id,
    {table}.version || ' ' || {table}.last_modified AS stamp, sync_items.number AS number
FROM {table}
LEFT JOIN sync_items
    ON sync_items.source = '{source}' AND sync_items.item = CAST({table}.id AS TEXT)
WHERE
    {live}
    AND {table}.{row} > :after
    AND (
        sync_items.number IS NULL
        OR sync_items.stamp <> {table}.version || ' ' || {table}.last_modified
    )
ORDER BY {table}.{row}
LIMIT :limit;
