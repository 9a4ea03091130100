-- Prompts of one user. Names and meanings follow the Prompts database of tldw, except for
-- `imported` and the full-text table. The full-text table stores folded terms, not text, and is
-- updated in the transaction that changes the row.

CREATE TABLE Prompts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    author TEXT,
    details TEXT,
    system_prompt TEXT,
    user_prompt TEXT,
    uuid TEXT NOT NULL UNIQUE,
    last_modified TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    deleted INTEGER NOT NULL DEFAULT 0,
    prev_version INTEGER,
    merge_parent_uuid TEXT
);

CREATE TABLE PromptKeywordsTable (
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

CREATE TABLE PromptKeywordLinks (
    id INTEGER PRIMARY KEY,
    prompt_id INTEGER NOT NULL REFERENCES Prompts (id) ON DELETE CASCADE,
    keyword_id INTEGER NOT NULL REFERENCES PromptKeywordsTable (id) ON DELETE CASCADE,
    UNIQUE (prompt_id, keyword_id)
);

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

CREATE VIRTUAL TABLE prompt_fts USING fts5 (
    name, details, system_prompt, user_prompt, author, keywords,
    content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
);
