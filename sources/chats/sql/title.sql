-- Title of the conversation :id.
SELECT title FROM conversations WHERE id = :id AND deleted = 0;
