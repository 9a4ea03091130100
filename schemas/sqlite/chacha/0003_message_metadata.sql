-- What else is known of a message: `extra_json` holds its `model`.
-- Name and meaning follow tldw's ChaChaNotes database.

CREATE TABLE message_metadata (
    message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    tool_calls_json TEXT,
    extra_json TEXT,
    last_modified TEXT NOT NULL
);
