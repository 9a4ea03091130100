-- Media that match :query and the filters, and when they last changed.
SELECT media_fts.rowid AS key, bm25(media_fts, 2.0, 1.0, 1.0, 1.0) AS bm25, Media.last_modified
FROM media_fts
JOIN Media ON Media.id = media_fts.rowid
WHERE media_fts MATCH :query
  AND (:filtered = 0 OR EXISTS (
      SELECT 1
      FROM Media
      WHERE Media.id = media_fts.rowid
        AND (:types IS NULL OR Media.type COLLATE NOCASE IN (SELECT value FROM json_each(:types)))
        AND (:date_from IS NULL OR Media.ingestion_date >= :date_from)
        AND (:date_to IS NULL OR Media.ingestion_date <= :date_to)
  ));
