-- Full-text rows that a restricted reader may not see, in ascending order: those of hidden conversations
-- and of their messages. `access_conversations` is then the view of the visible ones, which are judged
-- once. A damaged file may have NULL in columns that forbid it, which NOT IN would take for visible.
SELECT row * 2 AS key
FROM main.conversations
WHERE row NOT IN (SELECT row FROM temp.access_conversations)
UNION ALL
SELECT row * 2 + 1 AS key
FROM main.messages
WHERE coalesce(conversation_id, '') NOT IN (
    SELECT coalesce(id, '') FROM temp.access_conversations
)
ORDER BY key;
