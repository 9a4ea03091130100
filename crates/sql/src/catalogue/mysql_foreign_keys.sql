-- Lists the foreign keys of the database :schema, or of the current one if it is NULL, and of the
-- table :table if it is given. One row per column.
SELECT
    table_schema AS table_schema,
    table_name AS table_name,
    constraint_name AS key_name,
    column_name AS column_name,
    referenced_table_schema AS target_schema,
    referenced_table_name AS target_table,
    referenced_column_name AS target_column
FROM information_schema.key_column_usage
WHERE referenced_table_name IS NOT NULL
    AND table_schema = COALESCE(?, DATABASE())
    AND table_name = COALESCE(?, table_name)
ORDER BY table_name, constraint_name, ordinal_position;
