-- Returns a row if some item supersedes another one.
SELECT 1 FROM links WHERE kind IN ('supersedes', 'superseded_by') LIMIT 1;
