-- Reads the transcripts of a document, newest run first.
SELECT id, whisper_model, transcription, created_at
FROM Transcripts
WHERE media_id = :media_id AND deleted = 0 AND transcription IS NOT NULL
ORDER BY transcription_run_id DESC, created_at DESC, id DESC;
