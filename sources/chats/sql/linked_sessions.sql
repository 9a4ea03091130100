-- The log of the session :id, and the sessions that it started.
SELECT id, title, coalesce(is_log, 0) AS is_log
FROM conversations
WHERE parent_conversation_id = :id AND session IS NOT NULL AND deleted = 0
ORDER BY is_log DESC, created_at, id
LIMIT 200;
