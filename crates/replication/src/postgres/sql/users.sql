-- The users with databases, by name.
SELECT DISTINCT part.user_id COLLATE "C" AS user_id
FROM part
WHERE part.user_id <> ''
ORDER BY user_id;
