-- Migration 18 of chacha.db, 15 of media.db and 13 of prompts.db: the links and names of items in fewer bytes
-- (docs/adr/0059-keys-of-links.md). All rows are derived from the texts of items, which are read again.

DROP TABLE links;
DROP TABLE link_names;

-- The items with links or names. `path` is the path of the file, in the form in which names are compared;
-- `space`, the folder in which links are resolved, is a text, or the number of bytes of `path` that are the
-- folder. `keys` are the keys in `links` and `link_addresses`, six bytes each. `digest` is the sum of the
-- hashes of all rows of the item, by which damage is found.
CREATE TABLE link_items (
    number INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    item TEXT NOT NULL,
    path TEXT NOT NULL,
    space NOT NULL,
    keys BLOB NOT NULL,
    digest INTEGER NOT NULL,
    UNIQUE (source, item)
);

-- The links of items, but for web addresses, each different one once. `key` is a hash of the part of the target
-- by which `link_names` is searched; its last three bits are the number of the source. A link is resolved when
-- it is read: targets that are created, renamed or deleted later need no change here.
CREATE TABLE links (
    key INTEGER NOT NULL,
    item INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    target TEXT NOT NULL,
    fragment TEXT NOT NULL,
    PRIMARY KEY (key, item, kind, target, fragment)
) WITHOUT ROWID;
CREATE INDEX links_superseding ON links (item) WHERE kind IN (11, 12);

-- The web addresses in the texts of items.
CREATE TABLE link_addresses (
    key INTEGER NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (key, item)
) WITHOUT ROWID;

-- The names by which links find items: the path of a file, the name of a page, aliases, titles, web
-- addresses, identifiers of blocks. `name` is a hash of the name that is compared with the target of a link,
-- or 0 if it is that of `key`.
CREATE TABLE link_names (
    key INTEGER NOT NULL,
    item INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    name INTEGER NOT NULL,
    PRIMARY KEY (key, item, kind, name)
) WITHOUT ROWID;
CREATE INDEX link_names_by_item ON link_names (item);

-- A library without items has none of an earlier version.
UPDATE link_versions SET version = 2 WHERE NOT EXISTS (SELECT 1 FROM imported);

