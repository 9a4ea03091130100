-- Indexes whose columns are the first ones of another index.
WITH entry AS (
    SELECT table_name, index_name, MIN(non_unique) AS non_unique, MIN(index_type) AS index_type,
        GROUP_CONCAT(CONCAT('`', COALESCE(column_name, '?'), '`', COALESCE(CONCAT('(', sub_part, ')'), ''))
            ORDER BY seq_in_index SEPARATOR ',') AS names,
        SUM(column_name IS NULL) AS expressions
    FROM information_schema.statistics
    WHERE table_schema = DATABASE()
    GROUP BY table_name, index_name
)
SELECT
    'notice' AS severity,
    CONCAT('`', spare.table_name, '`.`', spare.index_name, '`') AS object,
    NULL AS measure,
    NULL AS unit,
    CONCAT('The index ', spare.index_name, ' on ', spare.table_name,
        CASE WHEN spare.names = MIN(kept.names) THEN ' has the same columns as ' ELSE ' has only the first columns of ' END,
        MIN(kept.index_name), '; it slows every write.') AS sentence,
    CONCAT('ALTER TABLE `', REPLACE(spare.table_name, '`', '``'), '` DROP INDEX `',
        REPLACE(spare.index_name, '`', '``'), '`;') AS suggestion
FROM entry AS spare
JOIN entry AS kept ON kept.table_name = spare.table_name AND kept.index_name <> spare.index_name
    AND kept.index_type = spare.index_type
WHERE spare.index_type = 'BTREE' AND spare.index_name <> 'PRIMARY'
    AND spare.expressions = 0 AND kept.expressions = 0
    AND (
        (spare.names = kept.names AND (spare.non_unique = 1 OR kept.non_unique = 0)
            AND (kept.non_unique < spare.non_unique OR kept.index_name < spare.index_name))
        OR (spare.non_unique = 1 AND LEFT(kept.names, CHAR_LENGTH(spare.names) + 1) = CONCAT(spare.names, ','))
    )
GROUP BY spare.table_name, spare.index_name, spare.names
ORDER BY object;
