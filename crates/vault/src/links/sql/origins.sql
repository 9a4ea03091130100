-- Origins of an item. A file is the first.
SELECT origin
FROM imported INDEXED BY imported_by_item
WHERE source = :source AND item = :item
ORDER BY origin NOT GLOB 'file:*', origin;
