-- Records that :origin was imported as :item.
INSERT INTO imported (source, origin, digest, item, imported_at)
VALUES (:source, :origin, :digest, :item, :now)
ON CONFLICT (source, origin) DO UPDATE
SET digest = excluded.digest, item = excluded.item, imported_at = excluded.imported_at;
