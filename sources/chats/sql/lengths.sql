-- How many words each of the conversations and messages has, as FTS5 counts them for each column.
SELECT id, sz FROM chat_fts_docsize;
