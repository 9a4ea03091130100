-- The collections of a server: what each is called, whose it is, and which file
-- holds it now. A collection that is made anew is written to another file; the
-- row says at which moment that takes the place of the old one.
-- `source_id` is never used twice.

CREATE TABLE collections (
    source_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    -- Whose it is; everybody's, if empty.
    owner TEXT,
    file TEXT NOT NULL,
    -- What it is made of and how, as JSON.
    plan TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
