-- All prompts, with what changes whenever one of them does.
SELECT id AS key, CAST(id AS TEXT) AS id, version || ' ' || last_modified AS stamp
FROM Prompts
WHERE deleted = 0;
