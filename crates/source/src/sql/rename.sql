-- Changes the origin :from, and its parts such as `file:a#1`, to :to. Replaces the fingerprint, because
-- the name may be part of the item; an empty one stays, because there was no file.
UPDATE OR REPLACE imported
SET
    origin = :to || substr(origin, length(:from) + 1),
    digest = CASE WHEN digest = '' THEN '' ELSE 'renamed' END
WHERE source = :source
  AND (origin = :from OR substr(origin, 1, length(:from) + 1) = :from || '#');
