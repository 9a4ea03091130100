-- Selects the version of the item :id, and whether it is deleted.
SELECT version, deleted FROM character_cards WHERE id = CAST(:id AS INTEGER);
