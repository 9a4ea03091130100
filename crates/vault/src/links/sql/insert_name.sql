-- Inserts a name of an item.
INSERT OR IGNORE INTO link_names (source, item, kind, key, name, path, space)
VALUES (:source, :item, :kind, :key, :name, :path, :space);
