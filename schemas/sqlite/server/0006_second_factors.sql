-- Second factors of logins with a password: the secret of an authenticator, and recovery codes.

-- `secret` is encrypted with the key of the server. A code of a step up to `last_step` is refused,
-- so that none is accepted twice.
CREATE TABLE second_factors (
    user TEXT PRIMARY KEY COLLATE NOCASE REFERENCES users (name) ON DELETE CASCADE,
    secret TEXT NOT NULL,
    last_step INTEGER NOT NULL,
    created_at TEXT NOT NULL
) WITHOUT ROWID;

-- Recovery codes that were not used. They are random and stored as SHA-256.
CREATE TABLE recovery_codes (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    user TEXT NOT NULL COLLATE NOCASE REFERENCES users (name) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX recovery_codes_of_user ON recovery_codes (user);
