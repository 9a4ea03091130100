-- The statement that made the full-text table :table.
SELECT sql FROM sqlite_schema WHERE name = :table AND sql LIKE 'CREATE VIRTUAL TABLE %';
