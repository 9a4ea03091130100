-- Counts the conversations and messages, and finds the latest change.
SELECT
    count(*) AS items,
    (
        SELECT count(*)
        FROM messages
        JOIN conversations ON conversations.id = messages.conversation_id
        WHERE messages.deleted = 0 AND conversations.deleted = 0
    ) AS passages,
    max(last_modified) AS newest
FROM conversations
WHERE deleted = 0;
