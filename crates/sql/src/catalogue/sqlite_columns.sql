-- Lists the columns of the schema ?1 (`main` if NULL), and of the table ?2 if it is given. With ?3,
-- lists vector columns only. With ?4, lists plain tables only, because a view on a dropped table
-- makes the whole statement fail. An INTEGER PRIMARY KEY is an alias of the rowid, so SQLite
-- assigns it if it is omitted.
WITH listed AS (
    SELECT
        entry.schema,
        entry.name,
        entry.wr,
        (SELECT max(field.pk) FROM pragma_table_info(entry.name) AS field) AS key_columns
    FROM pragma_table_list AS entry
    WHERE entry.schema = COALESCE(?1, 'main')
        AND entry.name = COALESCE(?2, entry.name)
        AND (entry.type = 'table' OR (?4 = 0 AND entry.type IN ('view', 'virtual')))
        AND substr(entry.name, 1, 7) <> 'sqlite_'
), described AS (
    SELECT
        listed.schema,
        listed.name AS table_name,
        field.*,
        field.pk = 1
            AND listed.key_columns = 1
            AND listed.wr = 0
            AND upper(field.type) = 'INTEGER' AS is_row_number
    FROM listed
    JOIN pragma_table_xinfo(listed.name) AS field
    WHERE field.hidden <> 1
)
SELECT
    described.schema AS table_schema,
    described.table_name AS table_name,
    described.name AS column_name,
    described.type AS data_type,
    described."notnull" = 0 AND NOT described.is_row_number AS nullable,
    '' AS description,
    described.pk > 0 AS is_pk,
    EXISTS (
        SELECT 1
        FROM pragma_index_list(described.table_name) AS entry
        JOIN pragma_index_info(entry.name) AS part
        WHERE entry."unique" = 1
            AND entry.partial = 0
            AND entry.origin <> 'pk'
            AND part.name = described.name
    ) AS is_unique,
    (
        SELECT group_concat(leads.target, ', ')
        FROM (
            SELECT DISTINCT
                described.schema || '.' || foreign_key."table" || '.' || COALESCE(
                    foreign_key."to",
                    (
                        SELECT target.name
                        FROM pragma_table_info(foreign_key."table") AS target
                        WHERE target.pk = foreign_key.seq + 1
                    ),
                    'rowid'
                ) AS target
            FROM pragma_foreign_key_list(described.table_name) AS foreign_key
            WHERE foreign_key."from" = described.name
            ORDER BY 1
        ) AS leads
    ) AS fk_ref,
    described.is_row_number OR EXISTS (
        SELECT 1
        FROM pragma_index_list(described.table_name) AS entry
        JOIN pragma_index_info(entry.name) AS part
        WHERE part.name = described.name
    ) AS is_indexed,
    CASE WHEN described.is_row_number THEN 'd' ELSE '' END AS identity,
    described.dflt_value AS default_value,
    described.type LIKE 'vector%' OR described.type LIKE 'halfvec%' AS is_vector
FROM described
WHERE ?3 = 0 OR described.type LIKE 'vector%' OR described.type LIKE 'halfvec%'
ORDER BY described.table_name, described.cid;
