-- Selects the version of the item :id, and whether it is deleted.
SELECT version, deleted FROM conversations WHERE id = :id;
