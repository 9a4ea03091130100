-- How many words each of the characters from :first to :last has,
-- as FTS5 counts them for each column.
SELECT id, sz FROM character_fts_docsize WHERE id BETWEEN :first AND :last;
