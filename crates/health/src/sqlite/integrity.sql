-- Damage of the file, found by a reading of all pages.
SELECT 'critical' AS severity, 'database' AS object, NULL AS measure, NULL AS unit,
    'The file is damaged: ' || replace(quick_check, char(10), ' ') AS sentence,
    '-- restore a backup, or save what can be read by .recover of the program sqlite3' AS suggestion
FROM pragma_quick_check
WHERE quick_check <> 'ok';
