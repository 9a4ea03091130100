-- Sets the version of the item :id, for one that brings its earlier versions.
UPDATE Prompts SET version = :version WHERE id = CAST(:id AS INTEGER);
