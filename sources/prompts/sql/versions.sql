-- Lists all prompts with a stamp that changes whenever the prompt changes.
SELECT id AS key, CAST(id AS TEXT) AS id, version || ' ' || last_modified AS stamp
FROM Prompts
WHERE deleted = 0;
