-- Removes a passage from the full-text table.
DELETE FROM chat_fts WHERE rowid = :key;
