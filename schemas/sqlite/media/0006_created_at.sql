-- Stores when documents were created or published, as they themselves state it. A column of `Media`
-- would come after the text, so that reading it would load the overflow pages of the text.
CREATE TABLE DocumentDates (
    media_id INTEGER PRIMARY KEY REFERENCES Media (id) ON DELETE CASCADE,
    created_at TEXT NOT NULL
);
