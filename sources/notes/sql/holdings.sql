-- How many notes there are, each one passage, and when one last changed.
SELECT count(*) AS items, count(*) AS passages, max(last_modified) AS newest
FROM notes
WHERE deleted = 0;
