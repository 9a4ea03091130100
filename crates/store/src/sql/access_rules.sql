-- Rules of a restricted reader. The views of the items read them.

-- Sources of which nothing is visible.
CREATE TEMP TABLE access_hidden_sources (source TEXT PRIMARY KEY) WITHOUT ROWID;

-- Sources of which only items with an allowed tag are visible.
CREATE TEMP TABLE access_limited_sources (source TEXT PRIMARY KEY) WITHOUT ROWID;

-- Allowed and denied tags, as patterns for LIKE.
CREATE TEMP TABLE access_tags (
    source TEXT NOT NULL,
    pattern TEXT NOT NULL,
    denied INTEGER NOT NULL,
    PRIMARY KEY (source, denied, pattern)
) WITHOUT ROWID;

-- Ranges of the origins of items from denied folders.
CREATE TEMP TABLE access_folders (
    source TEXT NOT NULL,
    first TEXT NOT NULL,
    beyond TEXT NOT NULL,
    PRIMARY KEY (source, first)
) WITHOUT ROWID;

-- Denied origins of the contents of an item.
CREATE TEMP TABLE access_origins (
    source TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (source, origin)
) WITHOUT ROWID;
