-- Number of the page of segment :segment of {table} that has :term, if any page does. The lowest bit of
-- `pgno` is a flag.
SELECT pgno >> 1 AS page
FROM {table}_idx
WHERE segid = :segment AND term <= :term
ORDER BY term DESC
LIMIT 1;
