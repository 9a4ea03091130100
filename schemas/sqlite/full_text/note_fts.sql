-- The full-text table of notes, with the text first:
-- FTS5 stores the number of each other column with every row of a word.
CREATE VIRTUAL TABLE note_fts USING fts5 (
    content, title, keywords, names, folders,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
