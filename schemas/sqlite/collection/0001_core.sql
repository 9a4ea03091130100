-- One collection: documents from external sources in chunks, with a full-text index, vectors and
-- synchronisation states. The `index.db` of a user has the same tables and leaves the full-text
-- table empty.

-- Sources of documents. Most collections have one, and the index of a library has one per source.
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
    -- File name and type, for citations.
    file_name TEXT,
    file_type TEXT,
    url TEXT,
    project_name TEXT,
    project_version TEXT,
    -- Copied from the metadata for use in filters.
    score REAL,
    post_type_id INTEGER,
    created_at TEXT,
    content_hash TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    -- The last column, so that reading the others does not load the overflow pages of the text.
    body TEXT NOT NULL
);
CREATE INDEX documents_by_source ON rag_documents (source_id, doc_id);
CREATE INDEX deleted_documents ON rag_documents (id) WHERE deleted = 1;

-- Tags of documents, from the `Tags` of their metadata.
CREATE TABLE rag_document_tags (
    document INTEGER NOT NULL REFERENCES rag_documents (id) ON DELETE CASCADE,
    tag TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (document, tag)
) WITHOUT ROWID;

-- Access tags of documents. A caller needs all of them to see the document.
CREATE TABLE rag_document_access (
    document INTEGER NOT NULL REFERENCES rag_documents (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (document, tag)
) WITHOUT ROWID;

-- `start_char` and `end_char` count code points of the body of the document. AUTOINCREMENT prevents
-- the reuse of ids, so that a cached id never denotes another chunk.
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

-- The embedding model of the vectors. There is at most one per collection.
CREATE TABLE rag_embedding_model (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL
);

-- Vectors quantized to 8 bits, which a search scans. `changed` increases with every change. A
-- deleted chunk keeps an empty code, so that caches of other processes can detect the deletion.
CREATE TABLE rag_codes (
    chunk INTEGER PRIMARY KEY,
    changed INTEGER NOT NULL,
    scale REAL NOT NULL,
    code BLOB NOT NULL
);
CREATE INDEX codes_by_change ON rag_codes (changed);

-- Full vectors of 32-bit floats, little-endian. `input_hash` identifies the embedded text and the
-- model.
CREATE TABLE rag_vectors (
    chunk INTEGER PRIMARY KEY REFERENCES rag_chunks (id) ON DELETE CASCADE,
    input_hash BLOB NOT NULL,
    updated_at TEXT NOT NULL,
    vector BLOB NOT NULL
);

-- Synchronisation states of the sources.
CREATE TABLE rag_sync_state (
    source_id INTEGER PRIMARY KEY REFERENCES rag_sources (source_id) ON DELETE CASCADE,
    mode TEXT NOT NULL DEFAULT 'poll',
    cursor_json TEXT NOT NULL DEFAULT '{}',
    last_ok_at TEXT,
    last_error TEXT
);
