-- How many prompts there are, each one passage, and when one last changed.
SELECT count(*) AS items, count(*) AS passages, max(last_modified) AS newest
FROM Prompts
WHERE deleted = 0;
