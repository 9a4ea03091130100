-- Texts are stored once: the empty text of a chunk stands for its place in the text of the document.
-- The full-text table has the body first, because FTS5 stores the number of every other column with
-- each word, and leaves out the stems that equal their word.

-- The dictionary of compressed texts, which are BLOBs. It never changes.
CREATE TABLE rag_text_dictionary (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    dictionary BLOB NOT NULL
);

-- The identifiers of documents have an index of their own.
DROP INDEX documents_by_source;
CREATE INDEX documents_by_source ON rag_documents (source_id);

CREATE TEMP TABLE indexed_chunks AS SELECT id FROM rag_fts_chunks_docsize;
DROP TABLE rag_words;
DROP TABLE rag_fts_chunks;
CREATE VIRTUAL TABLE rag_fts_chunks USING fts5 (
    body, section, title,
    content = '', contentless_delete = 1, tokenize = 'vademecum_compact'
);
CREATE VIRTUAL TABLE rag_words USING fts5vocab(rag_fts_chunks, row);
INSERT INTO rag_fts_chunks (rowid, body, section, title)
SELECT rag_chunks.id, rag_chunks.body, rag_chunks.section, rag_documents.title
FROM rag_chunks
JOIN rag_documents ON rag_documents.id = rag_chunks.document
WHERE rag_chunks.id IN (SELECT id FROM temp.indexed_chunks)
ORDER BY rag_chunks.id;
DROP TABLE temp.indexed_chunks;
