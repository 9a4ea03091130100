-- Token counts of the chunks :first to :last, one varint per column, as FTS5 stores them.
SELECT id, sz FROM rag_fts_chunks_docsize WHERE id BETWEEN :first AND :last;
