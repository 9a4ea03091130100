-- Inserts the transcript of a document.
INSERT INTO Transcripts (
    media_id, whisper_model, transcription, created_at, uuid, last_modified
)
VALUES (:media_id, :model, :transcription, :created_at, :uuid, :now);
