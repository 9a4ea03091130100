-- The first origin of the item :id of :source, in alphabetical order.
SELECT MIN(origin) AS origin FROM imported WHERE source = :source AND item = :id;
