-- Lists the indexes of the schema ?1 (`main` if NULL), and of the table ?2 if it is given. One row
-- per column. Indexed expressions have no column name.
SELECT
    listed.schema AS table_schema,
    listed.name AS table_name,
    entry.name AS key_name,
    COALESCE(part.name, '(expression)') AS column_name,
    entry."unique" AS is_unique
FROM pragma_table_list AS listed
JOIN pragma_index_list(listed.name) AS entry
JOIN pragma_index_info(entry.name) AS part
WHERE listed.schema = COALESCE(?1, 'main')
    AND listed.name = COALESCE(?2, listed.name)
    AND listed.type = 'table'
    AND substr(listed.name, 1, 7) <> 'sqlite_'
ORDER BY listed.name, entry.name, part.seqno;
