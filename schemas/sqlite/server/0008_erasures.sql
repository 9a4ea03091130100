-- Data folders that follow the archive, and the copies of libraries of removed users that they have not erased yet.

-- `id` is in the file `node.id` of the folder. `place` names host and folder, for people.
CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    place TEXT NOT NULL,
    started_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE pending_erasures (
    node_id TEXT NOT NULL,
    user TEXT NOT NULL,
    removed_at TEXT NOT NULL,
    PRIMARY KEY (node_id, user)
) WITHOUT ROWID;
