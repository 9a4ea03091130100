-- Makes a message, or a title with its opening message, findable by its words.
INSERT OR REPLACE INTO chat_fts (rowid, title, content)
VALUES (:key, :title, :content);
