-- Positions of the stored chunks of a document, in order.
SELECT chunk_index, uuid, start_char, end_char
FROM DocumentChunks
WHERE media_id = :media_id AND deleted = 0
  AND start_char IS NOT NULL AND end_char > start_char
ORDER BY chunk_index;
