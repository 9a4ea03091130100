-- Deletes the stored chunks of a document.
DELETE FROM UnvectorizedMediaChunks WHERE media_id = :media_id;
