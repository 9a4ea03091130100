-- Title of the note :id.
SELECT title FROM notes WHERE id = :id AND deleted = 0;
