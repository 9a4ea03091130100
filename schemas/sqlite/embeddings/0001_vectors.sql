-- Vectors of texts that were embedded before, so that they need not be again.
-- `input` is the SHA-256 of all that a vector depends on, the text among it; the
-- text itself is not here. Everything in it can be made again.

CREATE TABLE vectors (
    row INTEGER PRIMARY KEY,
    input BLOB NOT NULL UNIQUE CHECK (length(input) = 32),
    -- 32-bit floats, little end first.
    vector BLOB NOT NULL,
    -- Hours since 1970: finer would cost a write for every read.
    used_at INTEGER NOT NULL
);

CREATE INDEX vectors_by_use ON vectors (used_at, row);
