-- Where in a document a stored chunk is, as it was stored with it.
SELECT metadata
FROM UnvectorizedMediaChunks
WHERE media_id = :media_id AND chunk_index = :index AND deleted = 0 AND metadata IS NOT NULL;
