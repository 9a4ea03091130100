-- Hides all items of a source.
INSERT OR IGNORE INTO temp.access_hidden_sources (source) VALUES (:source);
