-- How many words each of the prompts has, as FTS5 counts them for each column.
SELECT id, sz FROM prompt_fts_docsize;
