-- Records that :item was changed in the library since its import.
UPDATE imported SET changed_at = :now WHERE source = :source AND item = :item;
