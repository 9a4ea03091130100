-- The full-text table of documents, with the text first:
-- FTS5 stores the number of each other column with every row of a word.
CREATE VIRTUAL TABLE media_fts USING fts5 (
    content, title, author, keywords,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
