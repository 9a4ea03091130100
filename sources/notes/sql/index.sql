-- Indexes a note, replacing its previous entry.
INSERT OR REPLACE INTO note_fts (rowid, title, content, keywords, names, folders)
VALUES (:row, :title, :content, :keywords, :names, :folders);
