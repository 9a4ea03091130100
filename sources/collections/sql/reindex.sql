-- Indexes the chunk :key from its stored text, replacing the previous entry.
INSERT OR REPLACE INTO rag_fts_chunks (rowid, title, section, body)
SELECT
    rag_chunks.id, rag_documents.title, rag_chunks.section,
    vademecum_chunk_text(
        rag_chunks.body, rag_documents.body, rag_chunks.start_char, rag_chunks.end_char,
        (SELECT dictionary FROM rag_text_dictionary)
    )
FROM rag_chunks
JOIN rag_documents ON rag_documents.id = rag_chunks.document
WHERE rag_chunks.id = :key;
