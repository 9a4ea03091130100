-- Selects the fields of an item as they were at its last import.
SELECT body FROM import_bases WHERE source = :source AND item = :item;
