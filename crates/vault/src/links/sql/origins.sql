-- Origins of an item. A file is the first.
SELECT origin
FROM imported
WHERE source = :source AND item = :item
ORDER BY origin NOT GLOB 'file:*', origin;
