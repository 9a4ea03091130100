-- Pages of the file that are not used.
SELECT CASE WHEN bytes >= 1073741824 THEN 'warning' ELSE 'notice' END AS severity,
    'database' AS object, bytes AS measure, 'bytes' AS unit,
    round(bytes / 1048576.0, 1) || ' MB of the file (' || round(100.0 * unused / pages, 1)
        || '%) are unused.' AS sentence,
    'VACUUM; -- writes the whole database again' AS suggestion
FROM (
    SELECT free.freelist_count AS unused, pages.page_count AS pages,
        free.freelist_count * size.page_size AS bytes
    FROM pragma_freelist_count AS free
    CROSS JOIN pragma_page_count AS pages
    CROSS JOIN pragma_page_size AS size
) AS figures
WHERE bytes >= 1048576 AND unused >= 0.25 * pages;
