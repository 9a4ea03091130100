-- Lists the changes of all items of a source since a time, newest first.
SELECT * FROM changes
WHERE
    source = :source
    AND changed_at >= :since
    AND (:client IS NULL OR client = :client COLLATE NOCASE)
ORDER BY number DESC;
