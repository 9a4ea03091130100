-- Token counts of the prompts :first to :last, one varint per column, as FTS5 stores them.
SELECT id, sz FROM prompt_fts_docsize WHERE id BETWEEN :first AND :last;
