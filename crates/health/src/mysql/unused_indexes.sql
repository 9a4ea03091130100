-- Indexes that no statement has used since the server started, without those that begin like another
-- one, of which a duplicate may be dropped, and those that a foreign key needs.
SELECT
    'notice' AS severity,
    CONCAT('`', seen.object_name, '`.`', seen.index_name, '`') AS object,
    NULL AS measure,
    NULL AS unit,
    CONCAT('No statement has used the index ', seen.index_name, ' on ', seen.object_name,
        ' since the server started. Replicas may use it.') AS sentence,
    CONCAT('ALTER TABLE `', REPLACE(seen.object_name, '`', '``'), '` DROP INDEX `',
        REPLACE(seen.index_name, '`', '``'), '`;') AS suggestion
FROM performance_schema.table_io_waits_summary_by_index_usage AS seen
WHERE seen.object_schema = DATABASE() AND seen.index_name IS NOT NULL AND seen.index_name <> 'PRIMARY'
    AND seen.count_star = 0
    AND EXISTS (
        SELECT 1 FROM information_schema.statistics AS entry
        WHERE entry.table_schema = seen.object_schema AND entry.table_name = seen.object_name
            AND entry.index_name = seen.index_name AND entry.non_unique = 1
    )
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.statistics AS entry
        JOIN information_schema.statistics AS other
            ON other.table_schema = entry.table_schema AND other.table_name = entry.table_name
            AND other.index_name <> entry.index_name AND other.seq_in_index = 1
            AND other.column_name = entry.column_name
        WHERE entry.table_schema = seen.object_schema AND entry.table_name = seen.object_name
            AND entry.index_name = seen.index_name AND entry.seq_in_index = 1
    )
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.statistics AS entry
        JOIN information_schema.key_column_usage AS link
            ON link.table_schema = entry.table_schema AND link.table_name = entry.table_name
            AND link.column_name = entry.column_name AND link.referenced_table_name IS NOT NULL
        WHERE entry.table_schema = seen.object_schema AND entry.table_name = seen.object_name
            AND entry.index_name = seen.index_name AND entry.seq_in_index = 1
    )
    AND EXISTS (
        SELECT 1 FROM information_schema.tables AS owner
        WHERE owner.table_schema = seen.object_schema AND owner.table_name = seen.object_name
            AND owner.index_length >= 1048576
    )
UNION ALL
SELECT 'hidden', 'performance_schema', NULL, NULL,
    'The use of indexes is not known, because performance_schema is off; set it to ON in the settings file and restart.',
    NULL
FROM DUAL
WHERE @@global.performance_schema = 0;
