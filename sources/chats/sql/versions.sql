-- Lists all conversations, except logs of sessions, with a stamp that changes whenever the conversation or
-- its messages change.
SELECT
    row * 2 AS key, id,
    last_modified || ' ' || (
        SELECT count(*) || ' ' || coalesce(max(messages.last_modified), '')
        FROM messages
        WHERE messages.conversation_id = conversations.id AND messages.deleted = 0
    ) AS stamp
FROM conversations
WHERE deleted = 0 AND id NOT IN (SELECT id FROM main.conversations WHERE is_log = 1);
