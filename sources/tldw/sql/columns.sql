-- Lists the columns of a table. Returns no rows if the table does not exist.
SELECT name FROM pragma_table_info(?1);
