-- Lists the changes of an item, newest first.
SELECT * FROM changes WHERE source = :source AND item = :item ORDER BY number DESC;
