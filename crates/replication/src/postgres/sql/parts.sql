-- The databases of the user $1, by name.
SELECT part.part
FROM part
WHERE part.user_id = $1
ORDER BY part.part COLLATE "C";
