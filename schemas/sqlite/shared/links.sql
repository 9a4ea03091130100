-- Migration 13 of chacha.db, 9 of media.db and 8 of prompts.db.

-- The links in the texts of items, as they are written there. `key` is the part of the target by which
-- `link_names` is searched, so a link is resolved when it is read: targets that are created, renamed or
-- deleted later need no change here. `position` counts characters of the text.
CREATE TABLE links (
    source TEXT NOT NULL,
    item TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    target TEXT NOT NULL,
    fragment TEXT NOT NULL,
    position INTEGER NOT NULL,
    context TEXT NOT NULL,
    PRIMARY KEY (source, item, number)
) WITHOUT ROWID;
CREATE INDEX links_by_key ON links (key, source);
CREATE INDEX links_superseding ON links (source) WHERE kind IN ('supersedes', 'superseded_by');

-- The names by which links find items: the path of a file, the name of a page, aliases, titles, web
-- addresses, identifiers of blocks. `name` is compared with the target of a link; `path` is the path of
-- the file, and `space` the folder in which its links are resolved.
CREATE TABLE link_names (
    source TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    space TEXT NOT NULL,
    PRIMARY KEY (source, item, kind, name)
) WITHOUT ROWID;
CREATE INDEX link_names_by_key ON link_names (key, source);

-- The version of the reader of links that has read the items of a source: all of them, or those before
-- `next_row`. Items of an earlier version are read again.
CREATE TABLE link_versions (
    source TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    next_row INTEGER
) WITHOUT ROWID;

-- A library without items has none of an earlier version.
INSERT INTO link_versions (source, version)
SELECT value, 1
FROM json_each('["notes", "media", "chats", "characters", "prompts"]')
WHERE NOT EXISTS (SELECT 1 FROM imported);
