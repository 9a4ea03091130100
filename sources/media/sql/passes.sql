-- Returns a row if the document :key has one of :types and was ingested from :date_from to
-- :date_to.
SELECT 1
FROM Media
WHERE id = :key
  AND (:types IS NULL OR type COLLATE NOCASE IN (SELECT value FROM json_each(:types)))
  AND (:date_from IS NULL OR ingestion_date >= :date_from)
  AND (:date_to IS NULL OR ingestion_date <= :date_to);
