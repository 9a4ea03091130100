-- Removes a character from the full-text table.
DELETE FROM character_fts WHERE rowid = :key;
