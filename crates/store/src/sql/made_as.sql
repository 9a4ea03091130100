-- Selects the statement that created the full-text table :table.
SELECT sql FROM sqlite_schema WHERE name = :table AND sql LIKE 'CREATE VIRTUAL TABLE %';
