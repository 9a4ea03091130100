-- Makes a chunk findable by its words.
INSERT OR REPLACE INTO rag_fts_chunks (rowid, title, section, body)
VALUES (:id, :title, :section, :body);
