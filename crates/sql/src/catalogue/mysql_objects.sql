-- Lists what the columns of the database :schema, or of the current one if it is NULL, and of the table
-- :table, if it is given, do not show: generated columns, constraints, partitions and triggers; without
-- a table also routines and sequences. Both are bound once for each of the eight parts. Of each
-- partitioned table, lists the first 20 partitions. Labels of enums are part of the data type.
SELECT
    1 AS place,
    field.table_schema AS table_schema,
    field.table_name AS table_name,
    field.column_name AS column_name,
    'generated' AS kind,
    CASE WHEN field.extra LIKE '%STORED%' OR field.extra LIKE '%PERSISTENT%'
        THEN 'stored' ELSE 'virtual'
    END AS name,
    field.generation_expression AS definition
FROM information_schema.columns AS field
WHERE field.table_schema = COALESCE(?, DATABASE())
    AND field.table_name = COALESCE(?, field.table_name)
    AND field.generation_expression <> ''
UNION ALL
-- The views have the name of the constraint in common and, in MariaDB, where two tables may have a
-- constraint of the same name, that of the table. MariaDB hides the rows of the second one from users
-- who may only read.
SELECT
    2,
    named.constraint_schema,
    named.table_name,
    NULL,
    'check',
    named.constraint_name,
    named.check_clause
FROM (
    SELECT constraint_schema, table_name, constraint_name, check_clause
    FROM information_schema.check_constraints
    NATURAL LEFT JOIN information_schema.table_constraints
    WHERE constraint_schema = COALESCE(?, DATABASE())
        AND COALESCE(constraint_type, 'CHECK') = 'CHECK'
) AS named
WHERE named.table_name = COALESCE(?, named.table_name)
UNION ALL
-- A key of one column is a flag of the column, but a foreign key has actions.
SELECT
    3,
    part.table_schema,
    part.table_name,
    NULL,
    CASE
        WHEN MAX(part.referenced_table_name) IS NOT NULL THEN 'foreign key'
        WHEN part.constraint_name = 'PRIMARY' THEN 'primary key'
        ELSE 'unique'
    END,
    part.constraint_name,
    CONCAT(
        '(',
        GROUP_CONCAT(part.column_name ORDER BY part.ordinal_position SEPARATOR ', '),
        ')',
        COALESCE(CONCAT(
            ' REFERENCES ', MAX(part.referenced_table_schema), '.', MAX(part.referenced_table_name),
            ' (', GROUP_CONCAT(
                part.referenced_column_name ORDER BY part.ordinal_position SEPARATOR ', '
            ), ')'
        ), ''),
        COALESCE(CONCAT(
            ' ON UPDATE ', MAX(action.update_rule), ' ON DELETE ', MAX(action.delete_rule)
        ), '')
    )
FROM information_schema.key_column_usage AS part
LEFT JOIN information_schema.referential_constraints AS action
    ON action.constraint_schema = part.constraint_schema
    AND action.constraint_name = part.constraint_name
    AND action.table_name = part.table_name
    AND part.referenced_table_name IS NOT NULL
WHERE part.table_schema = COALESCE(?, DATABASE())
    AND part.table_name = COALESCE(?, part.table_name)
GROUP BY
    part.table_schema, part.table_name, part.constraint_name, part.referenced_table_name IS NULL
HAVING COUNT(*) > 1 OR MAX(part.referenced_table_name) IS NOT NULL
UNION ALL
SELECT
    4,
    part.table_schema,
    part.table_name,
    NULL,
    'partitioned',
    part.table_name,
    CONCAT(
        MAX(part.partition_method), ' (', COALESCE(MAX(part.partition_expression), ''),
        '), partitions: ', COUNT(DISTINCT part.partition_name)
    )
FROM information_schema.partitions AS part
WHERE part.table_schema = COALESCE(?, DATABASE())
    AND part.table_name = COALESCE(?, part.table_name)
    AND part.partition_name IS NOT NULL
GROUP BY part.table_schema, part.table_name
UNION ALL
SELECT DISTINCT
    5,
    part.table_schema,
    part.table_name,
    NULL,
    'partition',
    part.partition_name,
    part.partition_description
FROM information_schema.partitions AS part
WHERE part.table_schema = COALESCE(?, DATABASE())
    AND part.table_name = COALESCE(?, part.table_name)
    AND part.partition_name IS NOT NULL
    AND part.partition_ordinal_position <= 20
UNION ALL
SELECT
    6,
    entry.event_object_schema,
    entry.event_object_table,
    NULL,
    'trigger',
    entry.trigger_name,
    CONCAT(
        entry.action_timing, ' ', entry.event_manipulation, ' FOR EACH ROW ',
        LEFT(entry.action_statement, 300)
    )
FROM information_schema.triggers AS entry
WHERE entry.event_object_schema = COALESCE(?, DATABASE())
    AND entry.event_object_table = COALESCE(?, entry.event_object_table)
UNION ALL
SELECT
    7,
    routine.routine_schema,
    NULL,
    NULL,
    LOWER(routine.routine_type),
    CONCAT(routine.routine_name, '(', COALESCE((
        SELECT GROUP_CONCAT(
            CONCAT(parameter.parameter_name, ' ', parameter.dtd_identifier)
            ORDER BY parameter.ordinal_position SEPARATOR ', '
        )
        FROM information_schema.parameters AS parameter
        WHERE parameter.specific_schema = routine.routine_schema
            AND parameter.specific_name = routine.specific_name
            AND parameter.routine_type = routine.routine_type
            AND parameter.ordinal_position > 0
    ), ''), ')'),
    CONCAT(
        COALESCE(CONCAT('returns ', NULLIF(routine.dtd_identifier, ''), ', '), ''),
        LOWER(routine.sql_data_access)
    )
FROM information_schema.routines AS routine
WHERE routine.routine_schema = COALESCE(?, DATABASE()) AND ? IS NULL
UNION ALL
SELECT 8, listed.table_schema, NULL, NULL, 'sequence', listed.table_name, ''
FROM information_schema.tables AS listed
WHERE listed.table_schema = COALESCE(?, DATABASE())
    AND ? IS NULL
    AND listed.table_type = 'SEQUENCE'
ORDER BY 1, 2, 3, 4, 6;
