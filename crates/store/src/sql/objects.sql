-- Lists all objects of the schema.
SELECT type, name, tbl_name, COALESCE(sql, '') AS sql FROM sqlite_schema ORDER BY type, name
LIMIT 10000;
