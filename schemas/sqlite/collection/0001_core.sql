-- One collection: documents that come from elsewhere, in chunks, with their
-- words, their vectors and how far they follow where they come from.
-- A user's own `index.db` has the same tables, without words.

-- Where documents come from. Most collections have one source; the index of a
-- library has one for each of its sources.
CREATE TABLE rag_sources (
    source_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    enabled INTEGER NOT NULL DEFAULT 1,
    backend_type TEXT NOT NULL,
    doc_map_json TEXT NOT NULL DEFAULT '{}',
    chunking_json TEXT NOT NULL DEFAULT '{}',
    embedding_json TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

CREATE TABLE rag_documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    doc_id TEXT NOT NULL UNIQUE,
    source_id INTEGER NOT NULL REFERENCES rag_sources (source_id) ON DELETE CASCADE,
    pk_json TEXT NOT NULL DEFAULT '{}',
    title TEXT,
    metadata_json TEXT NOT NULL DEFAULT '{}',
    -- What it is called and what kind of file it is, for those who cite it.
    file_name TEXT,
    file_type TEXT,
    url TEXT,
    project_name TEXT,
    project_version TEXT,
    -- Read from the metadata, so that filters need not.
    score REAL,
    post_type_id INTEGER,
    created_at TEXT,
    content_hash TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    -- Last, so that the columns above are read without the pages of the text.
    body TEXT NOT NULL
);
CREATE INDEX documents_by_source ON rag_documents (source_id, doc_id);
CREATE INDEX deleted_documents ON rag_documents (id) WHERE deleted = 1;

-- What a document is about: the `Tags` of its metadata.
CREATE TABLE rag_document_tags (
    document INTEGER NOT NULL REFERENCES rag_documents (id) ON DELETE CASCADE,
    tag TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (document, tag)
) WITHOUT ROWID;

-- For whom it is meant: whoever has all of these access tags.
CREATE TABLE rag_document_access (
    document INTEGER NOT NULL REFERENCES rag_documents (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (document, tag)
) WITHOUT ROWID;

-- `start_char` and `end_char` count code points of the document's body. A
-- number is never used twice: what is remembered of a chunk cannot become
-- another's.
CREATE TABLE rag_chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES rag_documents (id) ON DELETE CASCADE,
    chunk_index INTEGER NOT NULL,
    section TEXT,
    start_char INTEGER NOT NULL,
    end_char INTEGER NOT NULL,
    metadata_json TEXT NOT NULL DEFAULT '{}',
    body TEXT NOT NULL,
    UNIQUE (document, chunk_index)
);

CREATE VIRTUAL TABLE rag_fts_chunks USING fts5 (
    title, section, body,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
CREATE VIRTUAL TABLE rag_words USING fts5vocab(rag_fts_chunks, row);

-- Which model the vectors are of: one for each collection.
CREATE TABLE rag_embedding_model (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL
);

-- A chunk's vector in eight bits, which is what a search looks through.
-- `changed` grows with every change; a chunk that is gone keeps an empty code,
-- so that whoever has read the others learns of it.
CREATE TABLE rag_codes (
    chunk INTEGER PRIMARY KEY,
    changed INTEGER NOT NULL,
    scale REAL NOT NULL,
    code BLOB NOT NULL
);
CREATE INDEX codes_by_change ON rag_codes (changed);

-- The vector itself, 32-bit floats, least byte first; `input_hash` says of
-- which text and model.
CREATE TABLE rag_vectors (
    chunk INTEGER PRIMARY KEY REFERENCES rag_chunks (id) ON DELETE CASCADE,
    input_hash BLOB NOT NULL,
    updated_at TEXT NOT NULL,
    vector BLOB NOT NULL
);

-- How far the documents of a source follow where they come from.
CREATE TABLE rag_sync_state (
    source_id INTEGER PRIMARY KEY REFERENCES rag_sources (source_id) ON DELETE CASCADE,
    mode TEXT NOT NULL DEFAULT 'poll',
    cursor_json TEXT NOT NULL DEFAULT '{}',
    last_ok_at TEXT,
    last_error TEXT
);
