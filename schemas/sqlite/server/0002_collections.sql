-- Catalogue of the collections of a server: name, owner and current file. Rebuilding a collection
-- writes another file, and updating the row switches to it. `source_id` is never reused.

CREATE TABLE collections (
    source_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    -- Name of the owner. NULL means that the collection is shared by all users.
    owner TEXT,
    file TEXT NOT NULL,
    -- Definition of its contents, as JSON.
    plan TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
