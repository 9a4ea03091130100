-- Changes the origin :from, and its parts such as `file:a#1`, to :to. Clears the fingerprint,
-- because the name may be part of the item.
UPDATE OR REPLACE imported
SET origin = :to || substr(origin, length(:from) + 1), digest = ''
WHERE source = :source
  AND (origin = :from OR substr(origin, 1, length(:from) + 1) = :from || '#');
