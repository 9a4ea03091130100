-- The users of a server and the keys that were made for them.
-- A key itself is stored nowhere: `digest` is its SHA-256, which nobody can
-- turn back, because a key is 256 random bits.

-- Names that differ in case only would share a folder on some file systems.
CREATE TABLE users (
    name TEXT PRIMARY KEY COLLATE NOCASE,
    created_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL REFERENCES users (name),
    name TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    scopes TEXT NOT NULL,
    delegating INTEGER NOT NULL CHECK (delegating IN (0, 1)),
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
) WITHOUT ROWID;

CREATE INDEX api_keys_of_user ON api_keys (user, created_at);
