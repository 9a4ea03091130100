-- All documents that have one of :types and one of :tags and were modified from :after to before
-- :before. The index `media_listed` and the dates have all columns, so no text is read.
SELECT
    id AS key, id, title,
    COALESCE(
        (SELECT created_at FROM DocumentDates WHERE media_id = Media.id), ingestion_date
    ) AS created_at,
    last_modified, '' AS folders, NULL AS origin, type
FROM main.Media AS Media
WHERE deleted = 0 AND is_trash = 0
  AND last_modified >= COALESCE(:after, '')
  AND last_modified < COALESCE(:before, '~')
  AND (:types IS NULL OR type COLLATE NOCASE IN (SELECT value FROM json_each(:types)))
  AND (
      :tags IS NULL
      OR id IN (
          SELECT MediaKeywords.media_id
          FROM Keywords
          JOIN MediaKeywords ON MediaKeywords.keyword_id = Keywords.id
          WHERE Keywords.deleted = 0
            AND EXISTS (
                SELECT 1
                FROM json_each(:tags) AS wanted
                WHERE Keywords.keyword = wanted.value COLLATE NOCASE
                   OR substr(Keywords.keyword, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
            )
      )
  );
