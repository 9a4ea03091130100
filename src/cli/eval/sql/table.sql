-- One plain full-text table, as anybody would make it.
CREATE VIRTUAL TABLE f USING fts5 (title, text, tokenize = 'porter unicode61');
