-- How many words each of the documents has, as FTS5 counts them for each column.
SELECT id, sz FROM media_fts_docsize;
