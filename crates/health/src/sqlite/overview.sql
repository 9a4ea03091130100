-- Version and size.
SELECT 'ok' AS severity, 'database' AS object, pages.page_count * size.page_size AS measure, 'bytes' AS unit,
    'SQLite ' || sqlite_version() || ' reads it; the database takes '
        || round(pages.page_count * size.page_size / 1048576.0, 1) || ' MB.' AS sentence,
    NULL AS suggestion
FROM pragma_page_count AS pages
CROSS JOIN pragma_page_size AS size;
