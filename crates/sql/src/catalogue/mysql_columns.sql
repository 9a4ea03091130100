-- Lists the columns of the database :schema, or of the current one if it is NULL (bound three
-- times), and of the table :table if it is given. With :vectors, lists vector columns only.
SELECT
    field.table_schema AS table_schema,
    field.table_name AS table_name,
    field.column_name AS column_name,
    field.column_type AS data_type,
    field.is_nullable = 'YES' AS nullable,
    field.column_comment AS description,
    COALESCE(indexed.is_pk, 0) AS is_pk,
    COALESCE(indexed.is_unique, 0) AS is_unique,
    foreign_key.fk_ref AS fk_ref,
    indexed.column_name IS NOT NULL AS is_indexed,
    CASE WHEN field.extra LIKE '%auto_increment%' THEN 'd' ELSE '' END AS identity,
    -- MariaDB stores the text NULL where there is no default.
    COALESCE(
        NULLIF(field.column_default, 'NULL'), NULLIF(field.generation_expression, '')
    ) AS default_value,
    field.data_type = 'vector' AS is_vector
FROM information_schema.columns AS field
LEFT JOIN (
    SELECT
        table_schema,
        table_name,
        column_name,
        MAX(index_name = 'PRIMARY') AS is_pk,
        MAX(non_unique = 0 AND index_name <> 'PRIMARY') AS is_unique
    FROM information_schema.statistics
    WHERE table_schema = COALESCE(?, DATABASE())
    GROUP BY table_schema, table_name, column_name
) AS indexed
    ON indexed.table_schema = field.table_schema
    AND indexed.table_name = field.table_name
    AND indexed.column_name = field.column_name
LEFT JOIN (
    SELECT
        table_schema,
        table_name,
        column_name,
        GROUP_CONCAT(
            DISTINCT CONCAT(
                referenced_table_schema, '.', referenced_table_name, '.', referenced_column_name
            )
            ORDER BY referenced_table_schema, referenced_table_name, referenced_column_name
            SEPARATOR ', '
        ) AS fk_ref
    FROM information_schema.key_column_usage
    WHERE table_schema = COALESCE(?, DATABASE()) AND referenced_table_name IS NOT NULL
    GROUP BY table_schema, table_name, column_name
) AS foreign_key
    ON foreign_key.table_schema = field.table_schema
    AND foreign_key.table_name = field.table_name
    AND foreign_key.column_name = field.column_name
WHERE field.table_schema = COALESCE(?, DATABASE())
    AND field.table_name = COALESCE(?, field.table_name)
    AND (? = 0 OR field.data_type = 'vector')
ORDER BY field.table_name, field.ordinal_position;
