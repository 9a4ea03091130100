-- Indexes a document, replacing its previous entry.
INSERT OR REPLACE INTO media_fts (rowid, title, content, author, keywords)
VALUES (:id, :title, :content, :author, :keywords);
