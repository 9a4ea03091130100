-- Tables without a primary key, and without a unique index that takes its place. InnoDB indexes every foreign key itself.
SELECT
    'notice' AS severity,
    CONCAT('`', owner.table_name, '`') AS object,
    owner.table_rows AS measure,
    'rows' AS unit,
    CONCAT('The table ', owner.table_name, ' has no primary key and no unique index without NULL; a row cannot be named, and replication of changes is slow.') AS sentence,
    CASE WHEN EXISTS (
        SELECT 1 FROM information_schema.columns AS field
        WHERE field.table_schema = owner.table_schema AND field.table_name = owner.table_name
            AND (field.column_name = 'id' OR field.extra LIKE '%auto_increment%')
    )
    THEN '-- make the columns that name a row its primary key'
    ELSE CONCAT('ALTER TABLE `', REPLACE(owner.table_name, '`', '``'), '` ADD COLUMN id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY;')
    END AS suggestion
FROM information_schema.tables AS owner
WHERE owner.table_schema = DATABASE() AND owner.table_type = 'BASE TABLE' AND owner.table_rows >= 1000
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.statistics AS entry
        WHERE entry.table_schema = owner.table_schema AND entry.table_name = owner.table_name
            AND entry.non_unique = 0
        GROUP BY entry.index_name
        HAVING SUM(entry.nullable = 'YES') = 0
    )
ORDER BY owner.table_rows DESC;
