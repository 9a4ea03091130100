-- Lists the indexes of the database :schema, or of the current one if it is NULL, and of the table
-- :table if it is given. One row per column.
SELECT
    table_schema AS table_schema,
    table_name AS table_name,
    index_name AS key_name,
    column_name AS column_name,
    non_unique = 0 AS is_unique
FROM information_schema.statistics
WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = COALESCE(?, table_name)
ORDER BY table_name, index_name, seq_in_index;
