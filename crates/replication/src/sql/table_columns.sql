-- The columns of the table ?1 in order; `pk` is the position in the primary key, or 0.
SELECT name, pk
FROM pragma_table_info(?1, 'main')
ORDER BY cid;
