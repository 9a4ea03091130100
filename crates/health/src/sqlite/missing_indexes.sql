-- Foreign keys whose first column begins no index.
SELECT DISTINCT 'notice' AS severity, owner.name AS object, NULL AS measure, NULL AS unit,
    'The foreign key of ' || owner.name || ' on ' || link."from" || ' has no index: each delete in '
        || link."table" || ' reads all of ' || owner.name || '.' AS sentence,
    'CREATE INDEX "' || replace(owner.name || '_' || link."from", '"', '""') || '" ON "' || replace(owner.name, '"', '""')
        || '" ("' || replace(link."from", '"', '""') || '");' AS suggestion
FROM pragma_table_list AS owner
JOIN pragma_foreign_key_list(owner.name) AS link
WHERE owner.schema = 'main' AND owner.type = 'table' AND link.seq = 0
    AND NOT EXISTS (
        SELECT 1
        FROM pragma_index_list(owner.name) AS list
        JOIN pragma_index_info(list.name) AS field
        WHERE field.seqno = 0 AND field.name = link."from" COLLATE NOCASE AND NOT list.partial
    )
    -- The rowid is its own index.
    AND NOT EXISTS (
        SELECT 1 FROM pragma_table_info(owner.name) AS field
        WHERE field.name = link."from" COLLATE NOCASE AND field.pk = 1 AND upper(field.type) = 'INTEGER'
    )
ORDER BY owner.name;
