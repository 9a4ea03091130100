-- Reads the transcript of a document: of the run that the document names, or else the newest.
-- Columns that older databases lack are read through `absent`: a column name that a subquery does
-- not find in its own table resolves to the outer query.
SELECT transcription, whisper_model, created_at
FROM (
    SELECT NULL AS latest_transcription_run_id, NULL AS transcription_run_id
) AS absent
CROSS JOIN Transcripts
WHERE media_id = :id AND deleted = 0 AND transcription <> ''
ORDER BY
    COALESCE(
        (SELECT latest_transcription_run_id FROM Media AS own WHERE own.id = Transcripts.media_id)
        = (SELECT transcription_run_id FROM Transcripts AS own WHERE own.id = Transcripts.id),
        0
    ) DESC,
    (SELECT transcription_run_id FROM Transcripts AS own WHERE own.id = Transcripts.id) DESC,
    COALESCE(strftime('%Y-%m-%dT%H:%M:%f', created_at), created_at) DESC,
    id DESC
LIMIT 1;
