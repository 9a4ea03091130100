-- Size, columns and indexes of a table in a schema, by default the current one.
SELECT 'column' AS kind, field.column_name AS name, field.data_type AS type, owner.table_rows AS `rows`, 0 AS place
FROM information_schema.columns AS field
JOIN information_schema.tables AS owner
    ON owner.table_schema = field.table_schema AND owner.table_name = field.table_name
WHERE field.table_schema = COALESCE(?, DATABASE()) AND field.table_name = ? AND owner.table_type = 'BASE TABLE'
UNION ALL
SELECT 'index', COALESCE(CASE WHEN sub_part IS NULL OR seq_in_index = 1 THEN column_name END, ''), index_name, 0, seq_in_index
FROM information_schema.statistics
WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? AND index_type = 'BTREE'
ORDER BY kind, type, place;
