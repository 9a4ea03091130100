-- Version 3 of the words in full-text tables also has words such as `e-mail` without their signs,
-- parts of words with numbers, and emoji. Tables with rows are rebuilt later.
UPDATE fts_versions
SET version = 3
WHERE NOT EXISTS (SELECT 1 FROM rag_fts_chunks_docsize);
