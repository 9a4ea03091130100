-- Indexes all passages in an empty full-text table.
INSERT INTO chat_fts (rowid, title, sender, content, neighbours)
SELECT key, title, sender, content, neighbours
FROM chat_passages
ORDER BY key;
