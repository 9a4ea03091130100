-- Folders whose notes are written back: changes in the library are written to the files.

CREATE TABLE two_way_folders (
    -- Absolute path, without symbolic links.
    path TEXT PRIMARY KEY,
    -- Folder below `path` for notes that clients create, relative to it; NULL for none.
    new_notes TEXT
) WITHOUT ROWID;
