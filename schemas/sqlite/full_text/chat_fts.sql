-- The full-text table of conversations, with the text first:
-- FTS5 stores the number of each other column with every row of a word.
CREATE VIRTUAL TABLE chat_fts USING fts5 (
    content, title, sender, neighbours,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
