-- Lists the columns of the table $2 in the schema $1, or of the one on the search path if $1 is
-- NULL.
SELECT
    pg_namespace.nspname AS schema,
    pg_class.relkind::text AS kind,
    pg_attribute.attname AS name,
    pg_type.typname AS type,
    pg_type.typcategory::text AS category,
    pg_attribute.atttypmod AS dimensions,
    coalesce(col_description(pg_class.oid, pg_attribute.attnum), '') AS description,
    EXISTS (
        SELECT 1
        FROM pg_index
        WHERE pg_index.indrelid = pg_class.oid
          AND pg_index.indisprimary
          AND pg_attribute.attnum = ANY (pg_index.indkey)
    ) AS is_key
FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
JOIN pg_attribute ON pg_attribute.attrelid = pg_class.oid
JOIN pg_type ON pg_type.oid = pg_attribute.atttypid
WHERE pg_class.relname = $2
  AND pg_class.relkind IN ('r', 'p', 'm', 'v', 'f')
  AND CASE
      WHEN $1::text IS NULL THEN pg_table_is_visible(pg_class.oid)
      ELSE pg_namespace.nspname = $1::text
  END
  AND pg_attribute.attnum > 0
  AND NOT pg_attribute.attisdropped
ORDER BY pg_attribute.attnum
