-- Migration 11 of chacha.db, 7 of media.db and 6 of prompts.db.

-- The journal: one row for each change of an item since it was stored. `version` is that of the item
-- after the change. `delta` leads from the text of that version, of `length` bytes with this
-- fingerprint, to the text of the version before; NULL if texts are not kept.
CREATE TABLE changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    item TEXT NOT NULL,
    version INTEGER NOT NULL,
    changed_at TEXT NOT NULL,
    action TEXT NOT NULL,
    user TEXT NOT NULL,
    client TEXT NOT NULL,
    key TEXT NOT NULL,
    tool TEXT NOT NULL,
    delta BLOB,
    length INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);
CREATE INDEX changes_by_item ON changes (source, item, number);
CREATE INDEX changes_by_time ON changes (changed_at, bytes);

-- The fields of an imported item as they were in its file at the last import, for items that were
-- changed in the library since. Later changes of the file are merged against them.
CREATE TABLE import_bases (
    source TEXT NOT NULL,
    item TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (source, item)
) WITHOUT ROWID;
