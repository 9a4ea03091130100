-- Version of the words in the full-text table :table.
SELECT version
FROM fts_versions
WHERE table_name = :table;
