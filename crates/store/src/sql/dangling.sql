-- Counts the rows that refer to missing rows, by table.
SELECT "table" AS name, parent, count(*) AS rows
FROM pragma_foreign_key_check
GROUP BY "table", parent
ORDER BY "table", parent;
