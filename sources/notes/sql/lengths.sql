-- How many words each of the notes has, as FTS5 counts them for each column.
SELECT id, sz FROM note_fts_docsize;
