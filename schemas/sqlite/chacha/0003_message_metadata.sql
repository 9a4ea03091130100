-- Additional metadata of messages. `extra_json` holds the `model`. Name and meaning follow the
-- ChaChaNotes database of tldw.

CREATE TABLE message_metadata (
    message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    tool_calls_json TEXT,
    extra_json TEXT,
    last_modified TEXT NOT NULL
);
