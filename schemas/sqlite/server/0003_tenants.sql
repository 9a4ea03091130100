-- Status, folder and quotas of users; scope, rotation and last use of keys.

-- `folder` is the folder of the library below `users`; NULL means that it follows from the name and
-- the folders that exist. Libraries from before are in folders named like their users. `max_…` override the quotas of the
-- settings; NULL does not.
ALTER TABLE users ADD COLUMN folder TEXT;
ALTER TABLE users ADD COLUMN suspended_at TEXT;
ALTER TABLE users ADD COLUMN max_bytes INTEGER;
ALTER TABLE users ADD COLUMN max_items INTEGER;
UPDATE users SET folder = name WHERE name = lower(name) COLLATE BINARY;

-- `access` is the scope of the key beyond its rights, as JSON. The secret before a rotation is
-- accepted until `previous_until`.
ALTER TABLE api_keys ADD COLUMN access TEXT NOT NULL DEFAULT '{}';
ALTER TABLE api_keys ADD COLUMN last_used_at TEXT;
ALTER TABLE api_keys ADD COLUMN previous_digest BLOB;
ALTER TABLE api_keys ADD COLUMN previous_until TEXT;

-- Users whose sessions a running server must end: they were suspended or removed.
CREATE TABLE ended_users (
    name TEXT PRIMARY KEY,
    ended_at TEXT NOT NULL
) WITHOUT ROWID;
