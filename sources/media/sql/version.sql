-- Selects the version of the item :id, and whether it is deleted.
SELECT version, deleted OR is_trash AS deleted FROM Media WHERE id = CAST(:id AS INTEGER);
