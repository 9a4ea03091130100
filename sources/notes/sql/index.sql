-- Indexes a note, replacing its previous entry.
INSERT OR REPLACE INTO note_fts (rowid, title, content, keywords)
VALUES (:row, :title, :content, :keywords);
