-- Notes, conversations and characters of one user. Names and meanings follow the ChaChaNotes
-- database of tldw, except for `imported` and the full-text tables. The full-text tables store
-- folded terms, not text, and are updated in the transaction that changes the row. `row` is an
-- alias of the rowid, which keeps it stable under VACUUM.

CREATE TABLE notes (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_modified TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    version INTEGER NOT NULL DEFAULT 1
);

CREATE TABLE keywords (
    id INTEGER PRIMARY KEY,
    keyword TEXT NOT NULL UNIQUE COLLATE NOCASE,
    created_at TEXT NOT NULL,
    last_modified TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    version INTEGER NOT NULL DEFAULT 1
);

CREATE TABLE note_keywords (
    note_id TEXT NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
    keyword_id INTEGER NOT NULL REFERENCES keywords (id) ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    PRIMARY KEY (note_id, keyword_id)
) WITHOUT ROWID;
CREATE INDEX note_keywords_by_keyword ON note_keywords (keyword_id);

CREATE TABLE character_cards (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT,
    personality TEXT,
    scenario TEXT,
    system_prompt TEXT,
    image BLOB,
    post_history_instructions TEXT,
    first_message TEXT,
    message_example TEXT,
    creator_notes TEXT,
    alternate_greetings TEXT,
    tags TEXT,
    creator TEXT,
    character_version TEXT,
    extensions TEXT,
    created_at TEXT NOT NULL,
    last_modified TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    version INTEGER NOT NULL DEFAULT 1
);

CREATE TABLE conversations (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    root_id TEXT NOT NULL,
    forked_from_message_id TEXT,
    parent_conversation_id TEXT REFERENCES conversations (id) ON DELETE SET NULL,
    character_id INTEGER REFERENCES character_cards (id) ON DELETE SET NULL,
    title TEXT,
    rating INTEGER,
    source TEXT,
    external_ref TEXT,
    created_at TEXT NOT NULL,
    last_modified TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    version INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX conversations_by_character ON conversations (character_id);

CREATE TABLE messages (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    parent_message_id TEXT,
    sender TEXT NOT NULL,
    content TEXT NOT NULL,
    image_data BLOB,
    image_mime_type TEXT,
    timestamp TEXT NOT NULL,
    ranking INTEGER,
    last_modified TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    client_id TEXT NOT NULL DEFAULT 'vademecum',
    version INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX messages_by_conversation ON messages (conversation_id, timestamp, deleted);

CREATE TABLE conversation_keywords (
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    keyword_id INTEGER NOT NULL REFERENCES keywords (id) ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    PRIMARY KEY (conversation_id, keyword_id)
) WITHOUT ROWID;

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

CREATE VIRTUAL TABLE note_fts USING fts5 (
    title, content, keywords,
    content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
);

-- The titles of conversations and the messages are passages of one index, so that the same
-- statistics rank them. The rowid is 2 * conversations.row for a title, and 2 * messages.row + 1
-- for a message.
CREATE VIRTUAL TABLE chat_fts USING fts5 (
    title, content,
    content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
);

CREATE VIRTUAL TABLE character_fts USING fts5 (
    name, tags, description, personality, scenario, system_prompt,
    first_message, message_example, creator_notes,
    content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
);
