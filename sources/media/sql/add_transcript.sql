-- Stores the transcript of a document.
INSERT INTO Transcripts (media_id, transcription, created_at, uuid, last_modified)
VALUES (:media_id, :transcription, :now, :uuid, :now);
