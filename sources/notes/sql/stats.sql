-- Counts the notes, each of which is one passage, and finds the latest change.
SELECT count(*) AS items, count(*) AS passages, max(last_modified) AS newest
FROM notes
WHERE deleted = 0;
