-- Records when an imported item was changed in the library. Later imports of its origin no longer
-- replace it.
ALTER TABLE imported ADD COLUMN changed_at TEXT;
CREATE INDEX imported_by_item ON imported (source, item);
