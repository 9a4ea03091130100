-- Selects the first origin of each item of :source.
SELECT item, MIN(origin) AS origin FROM imported WHERE source = :source GROUP BY item;
