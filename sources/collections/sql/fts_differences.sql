-- Counts the chunks without an index entry (`missing`) and the index entries without a chunk
-- (`stray`).
SELECT
    (
        SELECT count(*) FROM rag_chunks WHERE id NOT IN (SELECT id FROM rag_fts_chunks_docsize)
    ) AS missing,
    (
        SELECT count(*) FROM rag_fts_chunks_docsize WHERE id NOT IN (SELECT id FROM rag_chunks)
    ) AS stray;
