-- A plain FTS5 table, used as the baseline.
CREATE VIRTUAL TABLE f USING fts5 (title, text, tokenize = 'porter unicode61');
