-- Deletes the fields of :item as they were at its last import.
DELETE FROM import_bases WHERE source = :source AND item = :item;
