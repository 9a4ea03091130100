-- Remembers that :item was changed in the library since it was imported.
UPDATE imported SET changed_at = :now WHERE source = :source AND item = :item;
