-- Returns a row if the file has a table for the state of following.
SELECT 1 AS is_there
FROM sqlite_schema
WHERE type = 'table' AND name = 'archive_state';
