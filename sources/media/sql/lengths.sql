-- Token counts of the documents :first to :last, one varint per column, as FTS5 stores them.
SELECT id, sz FROM media_fts_docsize WHERE id BETWEEN :first AND :last;
