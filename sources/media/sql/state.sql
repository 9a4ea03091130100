-- How many words there are in media_fts, and what it is made of: the records that
-- change with every write.
SELECT block FROM media_fts_data WHERE id IN (1, 10) ORDER BY id;
