-- Migration 22 of chacha.db, 19 of media.db and 16 of prompts.db.

-- The items as they were at the last sync with other machines (docs/adr/0074-own-machines-in-step.md).
-- `key` names the item on all machines, `item` in this library; NULL if this library never had it. `stamp`
-- changes whenever the item does; `deleted` for a deleted item. `revision` has, for each machine, the
-- number of its last change that is part of the item. `fingerprint` is that of the content, empty for a
-- deleted item. `history` lists earlier revisions with their fingerprints, as JSON, oldest first.
CREATE TABLE sync_items (
    number INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    item TEXT,
    stamp TEXT NOT NULL,
    revision TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    history TEXT NOT NULL,
    UNIQUE (source, key)
);
CREATE UNIQUE INDEX sync_items_by_item ON sync_items (source, item) WHERE item IS NOT NULL;
CREATE INDEX sync_items_by_fingerprint ON sync_items (source, fingerprint);

-- The file of a target that has the present revision of an item. An item without a row is written at the
-- next sync with that target. `file` is 0 if the target is another machine.
CREATE TABLE sync_places (
    target TEXT NOT NULL,
    number INTEGER NOT NULL REFERENCES sync_items (number) ON DELETE CASCADE,
    replica TEXT NOT NULL,
    file INTEGER NOT NULL,
    PRIMARY KEY (target, number)
) WITHOUT ROWID;
CREATE INDEX sync_places_by_file ON sync_places (target, replica, file);
CREATE INDEX sync_places_by_number ON sync_places (number);

-- The files of a target that were read, and the numbers that were chosen for own files. `bytes` is the size
-- of an own file, 0 until it is complete.
CREATE TABLE sync_files (
    target TEXT NOT NULL,
    replica TEXT NOT NULL,
    file INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (target, replica, file)
) WITHOUT ROWID;
