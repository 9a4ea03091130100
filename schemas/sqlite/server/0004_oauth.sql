-- The authorization server: how users log in, and what they granted to clients. A grant is a row of
-- `api_keys` with a `client_id`. Secrets are random and stored as SHA-256; passwords as argon2id.

-- `password` is a hash in the PHC format. `grantable` is the strongest right that the user may give
-- to a client.
ALTER TABLE users ADD COLUMN password TEXT;
ALTER TABLE users ADD COLUMN grantable TEXT NOT NULL DEFAULT 'write';

-- Client that holds the grant, and the address to which its code was sent. NULL for API keys.
ALTER TABLE api_keys ADD COLUMN client_id TEXT;
ALTER TABLE api_keys ADD COLUMN redirect_uri TEXT;

CREATE INDEX api_keys_of_client ON api_keys (client_id, user) WHERE client_id IS NOT NULL;

-- Clients that registered themselves. `redirect_uris` is a JSON array. `used_at` is the last time
-- at which a grant of the client was made or renewed.
CREATE TABLE oauth_clients (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    created_at TEXT NOT NULL,
    used_at TEXT
) WITHOUT ROWID;

-- Authorization codes. `key` is the grant that a code was exchanged for, which a second use revokes.
CREATE TABLE oauth_codes (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    client_id TEXT NOT NULL,
    client_name TEXT NOT NULL,
    user TEXT NOT NULL COLLATE NOCASE REFERENCES users (name) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL,
    resource TEXT NOT NULL,
    scopes TEXT NOT NULL,
    access TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    used_at TEXT,
    key TEXT REFERENCES api_keys (id) ON DELETE CASCADE
) WITHOUT ROWID;

-- Access and refresh tokens of grants. A refresh token that was exchanged has a `used_at`.
CREATE TABLE oauth_tokens (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    key TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('access', 'refresh')),
    resource TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    used_at TEXT
) WITHOUT ROWID;

CREATE INDEX oauth_tokens_of_key ON oauth_tokens (key);
CREATE INDEX oauth_tokens_by_expiry ON oauth_tokens (expires_at);

-- Answers of users on the consent page, for clients whose address identifies them. `fingerprint` is
-- the hash of what the page showed.
CREATE TABLE oauth_consents (
    user TEXT NOT NULL COLLATE NOCASE REFERENCES users (name) ON DELETE CASCADE,
    client_id TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    scopes TEXT NOT NULL,
    access TEXT NOT NULL,
    given_at TEXT NOT NULL,
    PRIMARY KEY (user, client_id)
) WITHOUT ROWID;

-- Browsers in which a user is logged in.
CREATE TABLE login_sessions (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    user TEXT NOT NULL COLLATE NOCASE REFERENCES users (name) ON DELETE CASCADE,
    expires_at TEXT NOT NULL
) WITHOUT ROWID;

-- One-time codes that log a browser in.
CREATE TABLE login_codes (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    user TEXT NOT NULL COLLATE NOCASE REFERENCES users (name) ON DELETE CASCADE,
    expires_at TEXT NOT NULL
) WITHOUT ROWID;
