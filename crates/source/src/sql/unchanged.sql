-- Records that :item is as it was imported.
UPDATE imported SET changed_at = NULL WHERE source = :source AND item = :item;
