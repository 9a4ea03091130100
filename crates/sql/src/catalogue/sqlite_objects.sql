-- Lists what the columns of the schema ?1 (only `main` has any) and of the table ?2, if it is given,
-- do not show: definitions of tables with constraints, generated columns or a virtual table's
-- module, and triggers.
SELECT
    1 AS place,
    'main' AS table_schema,
    entry.tbl_name AS table_name,
    NULL AS column_name,
    'table' AS kind,
    entry.name AS name,
    entry.sql AS definition
FROM sqlite_schema AS entry
WHERE COALESCE(?1, 'main') = 'main'
    AND entry.tbl_name = COALESCE(?2, entry.tbl_name)
    AND entry.type = 'table'
    AND substr(entry.name, 1, 7) <> 'sqlite_'
    AND (
        entry.sql LIKE 'CREATE VIRTUAL TABLE%'
        OR entry.sql LIKE '%CHECK%(%'
        OR entry.sql LIKE '% AS%(%'
        OR entry.sql LIKE '%UNIQUE%(%'
        OR entry.sql LIKE '%REFERENCES%'
    )
UNION ALL
SELECT 2, 'main', entry.tbl_name, NULL, 'trigger', entry.name, entry.sql
FROM sqlite_schema AS entry
WHERE COALESCE(?1, 'main') = 'main'
    AND entry.tbl_name = COALESCE(?2, entry.tbl_name)
    AND entry.type = 'trigger'
ORDER BY 1, 2, 3, 6;
