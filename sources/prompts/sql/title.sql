-- Name of the prompt :id.
SELECT name AS title FROM Prompts WHERE id = CAST(:id AS INTEGER) AND deleted = 0;
