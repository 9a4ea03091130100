-- Reads the stored chunks of a document, in order. The text of a range is not stored with it.
SELECT own_text, start_char, end_char, chunk_type, metadata
FROM DocumentChunks
WHERE media_id = :media_id AND deleted = 0
ORDER BY chunk_index;
