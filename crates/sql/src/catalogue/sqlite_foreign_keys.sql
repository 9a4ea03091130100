-- Lists the foreign keys of the schema ?1 (`main` if NULL), and of the table ?2 if it is given. One
-- row per column. SQLite does not name them, so `key_name` is a number.
SELECT
    listed.schema AS table_schema,
    listed.name AS table_name,
    entry.id AS key_name,
    entry."from" AS column_name,
    listed.schema AS target_schema,
    entry."table" AS target_table,
    COALESCE(
        entry."to",
        (
            SELECT target.name
            FROM pragma_table_info(entry."table") AS target
            WHERE target.pk = entry.seq + 1
        ),
        'rowid'
    ) AS target_column
FROM pragma_table_list AS listed
JOIN pragma_foreign_key_list(listed.name) AS entry
WHERE listed.schema = COALESCE(?1, 'main')
    AND listed.name = COALESCE(?2, listed.name)
    AND listed.type = 'table'
    AND substr(listed.name, 1, 7) <> 'sqlite_'
ORDER BY listed.name, entry.id, entry.seq;
