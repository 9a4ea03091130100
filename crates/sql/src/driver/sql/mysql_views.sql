SELECT 'view', table_schema, table_name, view_definition, definer, ''
FROM information_schema.views
WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?
UNION ALL
SELECT 'table', table_schema, table_name, engine, '', ''
FROM information_schema.tables
WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?
    AND engine IN ('FEDERATED', 'CONNECT', 'SPIDER', 'S3', 'OQGRAPH')
