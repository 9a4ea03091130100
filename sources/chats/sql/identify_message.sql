-- Identifiers and last modification of the match :key as a message. For even keys it is the opening
-- message.
SELECT conversation_id, id AS message_id, last_modified, NULL AS titles, sender, last_modified AS dated_at
FROM messages
WHERE :key % 2 = 1 AND row = :key / 2
UNION ALL
SELECT messages.conversation_id, messages.id AS message_id, messages.last_modified, NULL AS titles,
    messages.sender, messages.last_modified AS dated_at
FROM conversations
JOIN messages ON messages.conversation_id = conversations.id AND messages.position = 0
WHERE :key % 2 = 0 AND conversations.row = :key / 2;
