-- Items of a source whose origin matches one of the patterns in the JSON list :globs, in lower case.
SELECT DISTINCT imported.item
FROM imported
WHERE imported.source = :source
  AND EXISTS (
      SELECT 1 FROM json_each(:globs) AS wanted WHERE lower(imported.origin) GLOB wanted.value
  );
