-- Names of the columns of the full-text table :table, in their order.
SELECT name FROM pragma_table_info(:table) ORDER BY cid;
