-- How many words each of the titles and messages from :first to :last has,
-- as FTS5 counts them for each column.
SELECT id, sz FROM chat_fts_docsize WHERE id BETWEEN :first AND :last;
