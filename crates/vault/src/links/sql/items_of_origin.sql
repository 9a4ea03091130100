-- Items of an origin and of its parts.
SELECT DISTINCT item
FROM imported
WHERE source = :source
  AND (origin = :origin OR origin >= :origin || '#' AND origin < :origin || '$');
