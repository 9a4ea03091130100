-- The first stored chunk of a document that contains :offset, in characters.
SELECT chunk_index
FROM DocumentChunks
WHERE media_id = :media_id AND deleted = 0 AND start_char <= :offset AND end_char > :offset
ORDER BY chunk_index
LIMIT 1;
