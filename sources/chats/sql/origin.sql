-- What the item :id of :source came from, first of all.
SELECT MIN(origin) AS origin FROM imported WHERE source = :source AND item = :id;
