-- Deletes a collection from the catalogue.
DELETE FROM collections WHERE source_id = :source_id;
