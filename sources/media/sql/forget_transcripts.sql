-- Deletes the transcripts of a document.
DELETE FROM Transcripts WHERE media_id = :media_id;
