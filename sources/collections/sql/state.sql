-- How many words there are in rag_fts_chunks, and what it is made of: the records
-- that change with every write.
SELECT block FROM rag_fts_chunks_data WHERE id IN (1, 10) ORDER BY id;
