-- Token counts of the passages :first to :last, one varint per column, as FTS5 stores them.
SELECT id, sz FROM chat_fts_docsize WHERE id BETWEEN :first AND :last;
