-- What came from :from or a part of it, as in `file:a#1`, comes from :to from now
-- on. It is saved anew: its name may be part of it.
UPDATE OR REPLACE imported
SET origin = :to || substr(origin, length(:from) + 1), digest = ''
WHERE source = :source
  AND (origin = :from OR substr(origin, 1, length(:from) + 1) = :from || '#');
