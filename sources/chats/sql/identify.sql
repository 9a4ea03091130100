-- Identifiers and last modification of the match :key: a message (odd keys), or a conversation with
-- its opening message (even keys).
SELECT conversation_id, id AS message_id, last_modified, NULL AS titles, sender, last_modified AS dated_at
FROM messages
WHERE :key % 2 = 1 AND row = :key / 2
UNION ALL
SELECT id AS conversation_id, NULL AS message_id, last_modified, title AS titles, NULL AS sender, created_at AS dated_at
FROM conversations
WHERE :key % 2 = 0 AND row = :key / 2;
