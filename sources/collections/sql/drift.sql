-- How many chunks cannot be found by their words, and how many rows of words are of no chunk.
SELECT
    (
        SELECT count(*) FROM rag_chunks WHERE id NOT IN (SELECT id FROM rag_fts_chunks_docsize)
    ) AS missing,
    (
        SELECT count(*) FROM rag_fts_chunks_docsize WHERE id NOT IN (SELECT id FROM rag_chunks)
    ) AS stray;
