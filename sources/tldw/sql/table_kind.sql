-- Returns the kind of an object of the main schema: table, view, virtual or shadow. The kind comes
-- from the parsed schema, because the column `type` of `sqlite_schema` may be forged.
SELECT type FROM pragma_table_list(?1) WHERE schema = 'main';
