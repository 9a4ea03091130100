-- Removes the full-text table :table and its shadow tables from the schema.
DELETE FROM sqlite_schema
WHERE tbl_name IN (
    :table, :table || '_data', :table || '_idx', :table || '_content', :table || '_docsize',
    :table || '_config'
);
