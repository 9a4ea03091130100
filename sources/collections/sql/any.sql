-- Returns a row if a document is in scope.
SELECT 1
FROM counting
LIMIT 1;
