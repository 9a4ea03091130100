-- Records how each full-text table stores words. Version 1 has the English stem of each word beside
-- it; version 2 has each word once, and is searched in every language. Tables of version 1 are
-- searched as they are, until they are rebuilt.
CREATE TABLE fts_versions (
    table_name TEXT PRIMARY KEY,
    version INTEGER NOT NULL
);
INSERT INTO fts_versions (table_name, version)
VALUES
    ('rag_fts_chunks', CASE WHEN EXISTS (SELECT 1 FROM rag_fts_chunks_docsize) THEN 1 ELSE 2 END);
