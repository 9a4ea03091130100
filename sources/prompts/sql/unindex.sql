-- Removes a prompt from the full-text table.
DELETE FROM prompt_fts WHERE rowid = :key;
