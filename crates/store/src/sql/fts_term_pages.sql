-- Leaf pages of the segments of {table} with all terms from :from (inclusive) to :to (exclusive), and with
-- some before and after. The table `_idx` has a row for each page with terms: a beginning of its first term
-- that tells it from the last one of the page before. A page that a merge has removed has no block.
WITH RECURSIVE segments (segid) AS (
    SELECT MIN(segid) FROM {table}_idx
    UNION ALL
    SELECT (SELECT MIN(segid) FROM {table}_idx WHERE segid > segments.segid)
    FROM segments
    WHERE segid IS NOT NULL
)
SELECT block
FROM segments
CROSS JOIN {table}_idx AS pages ON pages.segid = segments.segid
CROSS JOIN {table}_data AS data ON data.id = (pages.segid << 37) + (pages.pgno >> 1)
WHERE pages.term < :to
  AND pages.term >= COALESCE(
      (
          SELECT MAX(term)
          FROM {table}_idx AS earlier
          WHERE earlier.segid = segments.segid AND earlier.term <= :from
      ),
      x''
  );
