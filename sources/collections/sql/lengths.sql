-- How many words each of the chunks from :first to :last has,
-- as FTS5 counts them for each column.
SELECT id, sz FROM rag_fts_chunks_docsize WHERE id BETWEEN :first AND :last;
