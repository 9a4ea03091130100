-- Identifiers and last modification of the match :key as a message. For even keys it is the opening
-- message.
SELECT conversation_id, id AS message_id, last_modified, NULL AS titles
FROM messages
WHERE :key % 2 = 1 AND row = :key / 2
UNION ALL
SELECT conversation_id, id AS message_id, last_modified, NULL AS titles
FROM messages
WHERE row = (
    SELECT opening.row
    FROM conversations
    JOIN messages AS opening ON opening.conversation_id = conversations.id AND opening.deleted = 0
    WHERE :key % 2 = 0 AND conversations.row = :key / 2
    ORDER BY opening.timestamp, opening.row
    LIMIT 1
);
