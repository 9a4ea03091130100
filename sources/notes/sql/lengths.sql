-- How many words each of the notes from :first to :last has,
-- as FTS5 counts them for each column.
SELECT id, sz FROM note_fts_docsize WHERE id BETWEEN :first AND :last;
