-- Takes a collection out of the catalogue.
DELETE FROM collections WHERE source_id = :source_id;
