-- Rows that refer to rows that are not there, by table.
SELECT "table" AS name, parent, count(*) AS rows
FROM pragma_foreign_key_check
GROUP BY "table", parent
ORDER BY "table", parent;
