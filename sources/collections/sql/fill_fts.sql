-- Indexes all chunks in an empty full-text table.
INSERT INTO rag_fts_chunks (rowid, title, section, body)
SELECT rag_chunks.id, rag_documents.title, rag_chunks.section, rag_chunks.body
FROM rag_chunks
JOIN rag_documents ON rag_documents.id = rag_chunks.document
ORDER BY rag_chunks.id;
