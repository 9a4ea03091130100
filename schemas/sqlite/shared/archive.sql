-- Migration 14 of chacha.db, 10 of media.db, 9 of prompts.db, 3 of imports.db, 5 of collections and
-- index.db, 5 of server.db and 2 of audit.db.

-- The write of an archive that this file corresponds to: its number, and its identifier. Empty if the
-- file follows no archive, or was changed without it.
CREATE TABLE archive_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    write_id BLOB NOT NULL
);
