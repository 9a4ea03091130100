-- Selects a row if :item was imported. An item written in the library has the digest :own_digest. Without
-- statistics, SQLite would read all items of the source by the primary key.
SELECT item
FROM imported INDEXED BY imported_by_item
WHERE source = :source AND item = :item AND digest <> :own_digest
LIMIT 1;
