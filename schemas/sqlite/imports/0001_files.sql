-- Import records of the files of one user. A record is written after the items, so a file without
-- one is imported again and updates its items.

CREATE TABLE files (
    -- Absolute path, without symbolic links.
    path TEXT NOT NULL,
    -- Kind requested by the user, or empty if it was detected.
    asked TEXT NOT NULL,
    -- Folder given by the user, if the file was found in one.
    root TEXT,
    -- Source that contains the items.
    source TEXT,
    -- Detected format.
    format TEXT,
    -- State of the file: size in bytes, modification time in nanoseconds since 1970, content
    -- digest.
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    digest TEXT,
    -- One of imported, skipped, passed (not supported) and missing.
    outcome TEXT NOT NULL,
    -- Identifiers of the items, and problems found, as JSON lists.
    items TEXT NOT NULL,
    problems TEXT NOT NULL,
    -- Time of the import, and version of the importers.
    read_at INTEGER NOT NULL,
    generation TEXT NOT NULL,
    PRIMARY KEY (path, asked)
) WITHOUT ROWID;
