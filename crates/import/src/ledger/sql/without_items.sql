-- Paths of the files that exist but became no items.
SELECT DISTINCT path FROM files WHERE outcome IN ('passed', 'skipped');
