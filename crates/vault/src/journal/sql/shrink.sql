-- Deletes the oldest changes, so that the others have at most :bytes bytes.
DELETE FROM changes
WHERE
    number <= (
        SELECT max(number)
        FROM (SELECT number, sum(bytes) OVER (ORDER BY number DESC) AS total FROM changes)
        WHERE total > :bytes
    );
