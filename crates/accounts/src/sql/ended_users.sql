-- Lists the users whose sessions ended at :since or later.
SELECT name, ended_at
FROM ended_users
WHERE ended_at >= :since
ORDER BY ended_at;
