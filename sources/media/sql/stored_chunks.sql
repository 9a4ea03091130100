-- Reads the stored chunks of a document, in order.
SELECT chunk_text, start_char, end_char, chunk_type, metadata
FROM UnvectorizedMediaChunks
WHERE media_id = :media_id AND deleted = 0
ORDER BY chunk_index;
