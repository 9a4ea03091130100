-- Counts the conversations, except logs of sessions, and messages, and finds the latest change.
SELECT
    count(*) AS items,
    (
        SELECT count(*)
        FROM messages
        JOIN conversations ON conversations.id = messages.conversation_id
        WHERE messages.deleted = 0 AND conversations.deleted = 0
          AND conversations.is_log IS NULL
    ) AS passages,
    max(last_modified) AS newest
FROM conversations
WHERE deleted = 0 AND id NOT IN (SELECT id FROM main.conversations WHERE is_log = 1);
