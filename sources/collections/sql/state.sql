-- Reads the averages record (1) and the structure record (10) of rag_fts_chunks, which change with
-- every write.
SELECT block FROM rag_fts_chunks_data WHERE id IN (1, 10) ORDER BY id;
