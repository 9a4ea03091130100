-- A row if the match :key is of these types and from this time.
SELECT 1
FROM Media
WHERE id = :key
  AND (:types IS NULL OR type COLLATE NOCASE IN (SELECT value FROM json_each(:types)))
  AND (:date_from IS NULL OR ingestion_date >= :date_from)
  AND (:date_to IS NULL OR ingestion_date <= :date_to);
