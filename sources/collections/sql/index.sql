-- Indexes a chunk, replacing its previous entry.
INSERT OR REPLACE INTO rag_fts_chunks (rowid, title, section, body)
VALUES (:id, :title, :section, :body);
