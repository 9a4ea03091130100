-- How many conversations and messages there are, and when one last changed.
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
