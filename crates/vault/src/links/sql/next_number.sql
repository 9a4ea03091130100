-- Number that follows those of the links of an item.
SELECT COALESCE(max(number) + 1, 0) AS number FROM links WHERE source = :source AND item = :item;
