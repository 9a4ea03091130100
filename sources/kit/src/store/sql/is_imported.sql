-- Selects a row if :item was imported. An item written in the library has the digest :own_digest.
SELECT item
FROM imported
WHERE source = :source AND item = :item AND digest <> :own_digest
LIMIT 1;
