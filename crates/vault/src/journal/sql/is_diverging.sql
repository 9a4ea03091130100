-- Returns a row if the item was imported and not changed in the library since.
SELECT 1 FROM imported
WHERE source = :source AND item = :item AND digest <> :own_digest AND changed_at IS NULL;
