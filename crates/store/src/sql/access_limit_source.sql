-- Limits a source to items with an allowed tag.
INSERT OR IGNORE INTO temp.access_limited_sources (source) VALUES (:source);
