-- Reads the averages record (1) and the structure record (10) of media_fts, which change with every
-- write.
SELECT block FROM media_fts_data WHERE id IN (1, 10) ORDER BY id;
