-- Title of the document :id.
SELECT title FROM Media WHERE id = CAST(:id AS INTEGER) AND deleted = 0 AND is_trash = 0;
