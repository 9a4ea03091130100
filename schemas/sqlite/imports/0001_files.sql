-- What became of the files that one user has brought in. Written after the items
-- themselves: a file that is not in here yet is read again, and finds its items.

CREATE TABLE files (
    -- Absolute, without links.
    path TEXT NOT NULL,
    -- What the user said it is to become; empty if it was left to its content.
    asked TEXT NOT NULL,
    -- The folder that the user named, if it was found in one.
    root TEXT,
    -- The source that its items went into.
    source TEXT,
    -- What it was read as.
    format TEXT,
    -- How it was: bytes, nanoseconds since 1970, fingerprint of what was in it.
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    digest TEXT,
    -- imported, skipped, passed (it is nothing for this program) or missing.
    outcome TEXT NOT NULL,
    -- Identifiers of its items, and what was left out of it, as JSON lists.
    items TEXT NOT NULL,
    problems TEXT NOT NULL,
    -- When it was read, and by which generation of the importers.
    read_at INTEGER NOT NULL,
    generation TEXT NOT NULL,
    PRIMARY KEY (path, asked)
) WITHOUT ROWID;
