-- How many words each of the characters has, as FTS5 counts them for each column.
SELECT id, sz FROM character_fts_docsize;
