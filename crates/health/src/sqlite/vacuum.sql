-- Statistics for the choice of indexes, which ANALYZE has never made.
SELECT 'notice' AS severity, 'database' AS object, count(*) AS measure, 'indexes' AS unit,
    'ANALYZE has never run: statements choose among ' || count(*) || ' indexes without statistics.' AS sentence,
    'ANALYZE;' AS suggestion
FROM pragma_table_list AS owner
JOIN pragma_index_list(owner.name) AS list
WHERE owner.schema = 'main' AND owner.type = 'table'
    AND (SELECT page_count FROM pragma_page_count) >= 100
    AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1')
HAVING count(*) > 0;
