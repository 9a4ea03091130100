-- Passkeys (WebAuthn): public keys by which browsers log users in.

-- `id` is chosen by the authenticator, `public_key` is in its encoding (COSE). `sign_count` grows with
-- each use, unless the authenticator has no counter.
CREATE TABLE passkeys (
    id BLOB PRIMARY KEY,
    user TEXT NOT NULL COLLATE NOCASE REFERENCES users (name) ON DELETE CASCADE,
    name TEXT NOT NULL,
    public_key BLOB NOT NULL,
    sign_count INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    last_used_at TEXT
) WITHOUT ROWID;

CREATE INDEX passkeys_of_user ON passkeys (user, created_at);

-- Challenges that were answered, until they expire, so that no answer is accepted twice.
CREATE TABLE used_challenges (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    expires_at TEXT NOT NULL
) WITHOUT ROWID;
