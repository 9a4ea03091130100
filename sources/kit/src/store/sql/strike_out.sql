-- Strikes the full-text table :table and the tables that it is kept in out of the schema.
DELETE FROM sqlite_schema
WHERE tbl_name IN (
    :table, :table || '_data', :table || '_idx', :table || '_content', :table || '_docsize',
    :table || '_config'
);
