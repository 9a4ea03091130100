-- Full-text rows that a restricted reader may not see, in ascending order. `conversations` and
-- `messages` are then views.
SELECT row * 2 AS key
FROM main.conversations
WHERE row NOT IN (SELECT row FROM conversations)
UNION ALL
SELECT row * 2 + 1 AS key
FROM main.messages
WHERE row NOT IN (SELECT row FROM messages)
ORDER BY key;
