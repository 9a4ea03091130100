-- AUTO_INCREMENT counters that have used up most of the numbers of their column.
SELECT
    CASE WHEN percent >= 97 THEN 'critical' WHEN percent >= 90 THEN 'warning' ELSE 'notice' END AS severity,
    CONCAT('`', table_name, '`.`', column_name, '`') AS object,
    percent AS measure,
    'percent' AS unit,
    CONCAT('AUTO_INCREMENT of ', table_name, '.', column_name, ' (', column_type, ') has used ', percent,
        '% of its numbers; after ', most - used, ' more, inserts fail.') AS sentence,
    CONCAT('ALTER TABLE `', REPLACE(table_name, '`', '``'), '` MODIFY `', REPLACE(column_name, '`', '``'),
        '` BIGINT UNSIGNED NOT NULL AUTO_INCREMENT; -- rebuilds the table') AS suggestion
FROM (
    SELECT table_name, column_name, column_type, used, most, ROUND(100 * used / most, 1) AS percent
    FROM (
        SELECT owner.table_name, field.column_name, field.column_type,
            CAST(owner.auto_increment AS DECIMAL(30)) - 1 AS used,
            CAST(CASE field.data_type WHEN 'tinyint' THEN 127 WHEN 'smallint' THEN 32767 WHEN 'mediumint' THEN 8388607
                WHEN 'int' THEN 2147483647 ELSE 9223372036854775807 END AS DECIMAL(30))
                * CASE WHEN field.column_type LIKE '%unsigned%' THEN 2 ELSE 1 END AS most
        FROM information_schema.tables AS owner
        JOIN information_schema.columns AS field
            ON field.table_schema = owner.table_schema AND field.table_name = owner.table_name
            AND field.extra LIKE '%auto_increment%'
        WHERE owner.table_schema = DATABASE() AND owner.auto_increment IS NOT NULL
    ) AS counter
) AS share
WHERE percent >= 75
ORDER BY percent DESC;
