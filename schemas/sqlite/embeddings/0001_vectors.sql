-- A cache of embedding vectors. `input` is the SHA-256 hash of everything that a vector depends on,
-- including the text, which itself is not stored. All contents can be recomputed.

CREATE TABLE vectors (
    row INTEGER PRIMARY KEY,
    input BLOB NOT NULL UNIQUE CHECK (length(input) = 32),
    -- 32-bit floats, little-endian.
    vector BLOB NOT NULL,
    -- Hours since 1970. A finer unit would cause a write for every read.
    used_at INTEGER NOT NULL
);

CREATE INDEX vectors_by_use ON vectors (used_at, row);
