-- Returns a row if the document :key is one of :items, has one of :types and one of :tags, was created, or ingested if it
-- states no date, from :date_from to :date_to, and was modified from :after to before :before.
SELECT 1
FROM Media
WHERE id = :key
  AND (:items IS NULL OR CAST(id AS TEXT) IN (SELECT value FROM json_each(:items)))
  AND (:types IS NULL OR type COLLATE NOCASE IN (SELECT value FROM json_each(:types)))
  AND (
      :date_from IS NULL
      OR COALESCE(
          (SELECT created_at FROM DocumentDates WHERE media_id = Media.id), ingestion_date
      ) >= :date_from
  )
  AND (
      :date_to IS NULL
      OR COALESCE(
          (SELECT created_at FROM DocumentDates WHERE media_id = Media.id), ingestion_date
      ) <= :date_to
  )
  AND (:after IS NULL OR last_modified >= :after)
  AND (:before IS NULL OR last_modified < :before)
  AND (
      :tags IS NULL
      OR EXISTS (
          SELECT 1
          FROM MediaKeywords
          JOIN Keywords ON Keywords.id = MediaKeywords.keyword_id
          WHERE MediaKeywords.media_id = Media.id
            AND Keywords.deleted = 0
            AND EXISTS (
                SELECT 1
                FROM json_each(:tags) AS wanted
                WHERE Keywords.keyword = wanted.value COLLATE NOCASE
                   OR substr(Keywords.keyword, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
            )
      )
  );
