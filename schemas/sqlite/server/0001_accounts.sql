-- Users of a server and their API keys. Keys are not stored: `digest` is the SHA-256 hash of a key,
-- which cannot be reversed, because a key has 256 random bits.

-- User names are folder names, so names that differ only in case would collide on some file
-- systems.
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
