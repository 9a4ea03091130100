-- The kinds of media there are.
SELECT type, count(*) AS n
FROM Media
WHERE deleted = 0 AND is_trash = 0
GROUP BY type
ORDER BY type;
