-- Removes a chunk from the full-text table.
DELETE FROM rag_fts_chunks WHERE rowid = :key;
