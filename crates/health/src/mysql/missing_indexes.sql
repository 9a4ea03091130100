-- Tables without a primary key. InnoDB indexes every foreign key itself.
SELECT
    'notice' AS severity,
    CONCAT('`', owner.table_name, '`') AS object,
    owner.table_rows AS measure,
    'rows' AS unit,
    CONCAT('The table ', owner.table_name, ' has no primary key; a row cannot be named, and replication of changes is slow.') AS sentence,
    CONCAT('ALTER TABLE `', REPLACE(owner.table_name, '`', '``'), '` ADD COLUMN id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY;') AS suggestion
FROM information_schema.tables AS owner
WHERE owner.table_schema = DATABASE() AND owner.table_type = 'BASE TABLE' AND owner.table_rows >= 1000
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.statistics AS entry
        WHERE entry.table_schema = owner.table_schema AND entry.table_name = owner.table_name
            AND entry.index_name = 'PRIMARY'
    )
ORDER BY owner.table_rows DESC;
