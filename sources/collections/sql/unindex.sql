-- Makes a chunk unfindable by its words.
DELETE FROM rag_fts_chunks WHERE rowid = :id;
