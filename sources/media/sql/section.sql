-- Reads the metadata of a stored chunk, which holds its section path.
SELECT metadata
FROM UnvectorizedMediaChunks
WHERE media_id = :media_id AND chunk_index = :index AND deleted = 0 AND metadata IS NOT NULL;
