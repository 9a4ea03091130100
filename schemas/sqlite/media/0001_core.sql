-- Media documents of one user, with their stored chunks and transcripts. Names and meanings follow
-- the Media database of tldw, except for `imported` and the full-text table. The full-text table
-- stores folded terms, not text, and is updated in the transaction that changes the row.

CREATE TABLE Media (
    id INTEGER PRIMARY KEY,
    url TEXT,
    title TEXT NOT NULL,
    type TEXT NOT NULL,
    author TEXT,
    ingestion_date TEXT NOT NULL,
    transcription_model TEXT,
    is_trash INTEGER NOT NULL DEFAULT 0,
    trash_date TEXT,
    chunking_status TEXT NOT NULL DEFAULT 'pending',
    vector_processing INTEGER NOT NULL DEFAULT 0,
    content_hash TEXT NOT NULL,
    uuid TEXT NOT NULL UNIQUE,
    last_modified TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    deleted INTEGER NOT NULL DEFAULT 0,
    prev_version INTEGER,
    merge_parent_uuid TEXT,
    -- The last column, so that reading the others does not load the overflow pages of the text.
    content TEXT
);
CREATE INDEX media_by_date ON Media (ingestion_date);

CREATE TABLE Keywords (
    id INTEGER PRIMARY KEY,
    keyword TEXT NOT NULL UNIQUE COLLATE NOCASE,
    uuid TEXT NOT NULL UNIQUE,
    last_modified TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    deleted INTEGER NOT NULL DEFAULT 0,
    prev_version INTEGER,
    merge_parent_uuid TEXT
);

CREATE TABLE MediaKeywords (
    id INTEGER PRIMARY KEY,
    media_id INTEGER NOT NULL REFERENCES Media (id) ON DELETE CASCADE,
    keyword_id INTEGER NOT NULL REFERENCES Keywords (id) ON DELETE CASCADE,
    UNIQUE (media_id, keyword_id)
);

CREATE TABLE DocumentVersions (
    id INTEGER PRIMARY KEY,
    media_id INTEGER NOT NULL REFERENCES Media (id) ON DELETE CASCADE,
    version_number INTEGER NOT NULL,
    prompt TEXT,
    analysis_content TEXT,
    safe_metadata TEXT,
    content TEXT NOT NULL,
    created_at TEXT NOT NULL,
    uuid TEXT NOT NULL UNIQUE,
    last_modified TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    deleted INTEGER NOT NULL DEFAULT 0,
    prev_version INTEGER,
    merge_parent_uuid TEXT,
    UNIQUE (media_id, version_number)
);

-- Stored chunks. `start_char` and `end_char` count code points of Media.content, and neighbouring
-- chunks may overlap.
CREATE TABLE UnvectorizedMediaChunks (
    id INTEGER PRIMARY KEY,
    media_id INTEGER NOT NULL REFERENCES Media (id) ON DELETE CASCADE,
    chunk_text TEXT NOT NULL,
    chunk_index INTEGER NOT NULL,
    start_char INTEGER,
    end_char INTEGER,
    chunk_type TEXT,
    creation_date TEXT,
    last_modified_orig TEXT,
    is_processed INTEGER NOT NULL DEFAULT 0,
    metadata TEXT,
    uuid TEXT NOT NULL UNIQUE,
    last_modified TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    deleted INTEGER NOT NULL DEFAULT 0,
    prev_version INTEGER,
    merge_parent_uuid TEXT,
    UNIQUE (media_id, chunk_index, chunk_type)
);

CREATE TABLE Transcripts (
    id INTEGER PRIMARY KEY,
    media_id INTEGER NOT NULL REFERENCES Media (id) ON DELETE CASCADE,
    whisper_model TEXT,
    transcription TEXT,
    created_at TEXT NOT NULL,
    transcription_run_id INTEGER,
    uuid TEXT NOT NULL UNIQUE,
    last_modified TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    deleted INTEGER NOT NULL DEFAULT 0,
    prev_version INTEGER,
    merge_parent_uuid TEXT
);
CREATE INDEX transcripts_by_media ON Transcripts (media_id);

-- Origins of imported items. An import from a known origin updates its item, and an unchanged
-- digest leaves it as it is.
CREATE TABLE imported (
    source TEXT NOT NULL,
    origin TEXT NOT NULL,
    digest TEXT NOT NULL,
    item TEXT NOT NULL,
    imported_at TEXT NOT NULL,
    PRIMARY KEY (source, origin)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE media_fts USING fts5 (
    title, content, author, keywords,
    content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
);
