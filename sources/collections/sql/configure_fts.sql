-- Sets an option of the full-text table, or runs one of its commands.
INSERT INTO rag_fts_chunks (rag_fts_chunks, rank) VALUES (:name, :value);
