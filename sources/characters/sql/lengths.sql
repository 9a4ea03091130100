-- Token counts of the characters :first to :last, one varint per column, as FTS5 stores them.
SELECT id, sz FROM character_fts_docsize WHERE id BETWEEN :first AND :last;
