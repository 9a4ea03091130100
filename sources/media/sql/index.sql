-- Makes a document findable by its words.
INSERT OR REPLACE INTO media_fts (rowid, title, content, author, keywords)
VALUES (:id, :title, :content, :author, :keywords);
