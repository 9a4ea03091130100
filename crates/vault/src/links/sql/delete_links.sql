-- Removes the links of an item.
DELETE FROM links WHERE source = :source AND item = :item;
