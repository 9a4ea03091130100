-- When an imported item was changed in the library; what it came from does not
-- take its place any more.
ALTER TABLE imported ADD COLUMN changed_at TEXT;
CREATE INDEX imported_by_item ON imported (source, item);
