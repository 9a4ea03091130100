-- Sets the version of the words in the full-text table :table.
INSERT OR REPLACE INTO fts_versions (table_name, version)
VALUES (:table, :version);
