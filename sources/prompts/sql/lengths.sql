-- How many words each of the prompts from :first to :last has,
-- as FTS5 counts them for each column.
SELECT id, sz FROM prompt_fts_docsize WHERE id BETWEEN :first AND :last;
