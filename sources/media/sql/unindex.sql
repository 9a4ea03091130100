-- Removes a document from the full-text table.
DELETE FROM media_fts WHERE rowid = :key;
