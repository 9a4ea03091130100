-- Audit log: one row for each call, failed login, administrative command or gap.
-- Rows are only added; the retention limits delete the oldest ones. Ids are never reused.

CREATE TABLE entry (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    user TEXT,
    key TEXT,
    client TEXT,
    transport TEXT,
    address TEXT,
    method TEXT NOT NULL,
    tool TEXT,
    sources TEXT,
    items TEXT,
    item_count INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    code INTEGER,
    reason TEXT,
    arguments TEXT,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    ms REAL NOT NULL
);

CREATE TRIGGER entry_is_append_only BEFORE UPDATE ON entry
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
