-- Reads the chunks of a document that have a text of their own, also the deleted ones.
SELECT id, own_text, start_char, end_char
FROM DocumentChunks
WHERE media_id = :media_id AND own_text <> '';
