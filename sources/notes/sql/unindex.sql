-- Removes a note from the full-text table.
DELETE FROM note_fts WHERE rowid = :key;
