-- Records how each full-text table stores words. Version 1 has the English stem of each word beside
-- it; version 2 has each word once, and is searched in every language. Tables of version 1 are
-- searched as they are, until they are rebuilt.
CREATE TABLE fts_versions (
    table_name TEXT PRIMARY KEY,
    version INTEGER NOT NULL
);
INSERT INTO fts_versions (table_name, version)
VALUES
    ('prompt_fts', CASE WHEN EXISTS (SELECT 1 FROM prompt_fts_docsize) THEN 1 ELSE 2 END);
