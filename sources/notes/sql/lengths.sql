-- Token counts of the notes :first to :last, one varint per column, as FTS5 stores them.
SELECT id, sz FROM note_fts_docsize WHERE id BETWEEN :first AND :last;
