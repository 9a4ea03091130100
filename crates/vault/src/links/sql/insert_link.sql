-- Inserts a link of an item.
INSERT INTO links (source, item, number, kind, key, target, fragment, position, context)
VALUES (:source, :item, :number, :kind, :key, :target, :fragment, :position, :context);
