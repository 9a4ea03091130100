-- Returns the columns of a table whose values are computed by an expression of the schema.
SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 0;
