-- Removes the names of an item.
DELETE FROM link_names WHERE source = :source AND item = :item;
