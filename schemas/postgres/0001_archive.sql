-- The archive: databases of any number of servers, as rows. Migration 1.
--
-- The tables are in a schema of their own. Each begins with the user, so that it can be distributed by
-- it.

-- How far each database has come, and by which write.
CREATE TABLE part (
    -- Owner of the database; empty for databases of the server.
    user_id text NOT NULL,
    -- Database, such as `media` or `collection/docs.3`.
    part text NOT NULL,
    -- Number of writes so far.
    seq bigint NOT NULL,
    -- Identifies the last write.
    write_id uuid NOT NULL,
    -- Number of SQLite migrations that the rows correspond to.
    schema_version integer NOT NULL,
    PRIMARY KEY (user_id, part)
);

-- The state of each row that was ever written.
CREATE TABLE entry (
    user_id text NOT NULL,
    part text NOT NULL,
    table_name text NOT NULL,
    -- Encoded primary key, or its digest if it is long.
    key bytea NOT NULL,
    -- Encoded primary key, if `key` is a digest.
    long_key bytea,
    -- Number of the last write to the row.
    seq bigint NOT NULL,
    -- Encoded columns, compressed if they are long; NULL if the row was deleted.
    content bytea,
    PRIMARY KEY (user_id, part, table_name, key)
);

CREATE INDEX entry_by_seq ON entry (user_id, part, seq);

-- The latest writes, by which a server finds out that its copy has a state that was lost.
CREATE TABLE receipt (
    user_id text NOT NULL,
    part text NOT NULL,
    seq bigint NOT NULL,
    write_id uuid NOT NULL,
    PRIMARY KEY (user_id, part, seq)
);

-- Small values that servers share, such as the records of sessions.
CREATE TABLE shared_value (
    user_id text NOT NULL,
    kind text NOT NULL,
    key bytea NOT NULL,
    content bytea NOT NULL,
    -- Time after which the value does not exist; NULL means that it never expires.
    expires_at timestamptz,
    PRIMARY KEY (user_id, kind, key)
);
