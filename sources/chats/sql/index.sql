-- Indexes a message, or a title with its opening message, replacing the previous entry.
INSERT OR REPLACE INTO chat_fts (rowid, title, sender, content, neighbours)
VALUES (:key, :title, :sender, :content, :neighbours);
