-- Makes a note findable by its words.
INSERT OR REPLACE INTO note_fts (rowid, title, content, keywords)
VALUES (:row, :title, :content, :keywords);
