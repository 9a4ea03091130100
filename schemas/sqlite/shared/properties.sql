-- Migration 21 of chacha.db, 18 of media.db and 15 of prompts.db: the properties and tasks of notes
-- (docs/adr/0072-properties-and-tasks.md). All rows are derived from the texts of items, which are read again.

-- Numbers of tasks in the text of an item.
ALTER TABLE link_items ADD COLUMN open_tasks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE link_items ADD COLUMN done_tasks INTEGER NOT NULL DEFAULT 0;
CREATE INDEX items_with_open_tasks ON link_items (source, item) WHERE open_tasks > 0;
CREATE INDEX items_with_done_tasks ON link_items (source, item) WHERE done_tasks > 0;

-- The properties of notes: names and values in lower case, one row for each value of a list. `item` is a number
-- of `link_items`. Values are compared as numbers if they are, so they are read by name.
CREATE TABLE note_properties (
    name TEXT NOT NULL,
    item INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name, item, value)
) WITHOUT ROWID;
CREATE INDEX note_properties_by_item ON note_properties (item);

-- A library without items has none of an earlier version.
UPDATE link_versions SET version = 3 WHERE NOT EXISTS (SELECT 1 FROM imported);
