-- Lists the documents with a mark that changes with the document or its parts, and their sizes in
-- bytes. Documents staged by a system operation are excluded. Columns that older databases lack are
-- read through `absent`: a column name that a subquery does not find in its own table resolves to
-- the outer query. The marks of chunks and versions are computed from indexes, because the rows
-- hold the full texts.
WITH cut AS (
    SELECT media_id, concat_ws('|', count(*), total(rowid)) AS mark
    FROM UnvectorizedMediaChunks
    GROUP BY media_id
),
versions AS (
    SELECT media_id, concat_ws('|', max(version_number), total(rowid)) AS mark
    FROM DocumentVersions
    GROUP BY media_id
),
spoken AS (
    SELECT
        media_id,
        concat_ws('|', count(*), total(id), total(version), total(deleted), max(created_at)) AS mark
    FROM Transcripts
    GROUP BY media_id
),
words AS (
    SELECT MediaKeywords.media_id, group_concat(Keywords.keyword, '|') AS mark
    FROM MediaKeywords
    JOIN Keywords ON Keywords.id = MediaKeywords.keyword_id
    WHERE Keywords.deleted = 0
    GROUP BY MediaKeywords.media_id
)
SELECT
    Media.id,
    concat_ws(
        '|', Media.version, Media.last_modified,
        (SELECT latest_transcription_run_id FROM Media AS own WHERE own.id = Media.id),
        words.mark, cut.mark, versions.mark, spoken.mark
    ) AS mark,
    octet_length(Media.content) AS bytes
FROM (SELECT NULL AS latest_transcription_run_id, NULL AS system_operation_id) AS absent
CROSS JOIN Media
LEFT JOIN words ON words.media_id = Media.id
LEFT JOIN cut ON cut.media_id = Media.id
LEFT JOIN versions ON versions.media_id = Media.id
LEFT JOIN spoken ON spoken.media_id = Media.id
WHERE Media.deleted = 0
  AND Media.is_trash = 0
  AND (SELECT system_operation_id FROM Media AS own WHERE own.id = Media.id) IS NULL;
