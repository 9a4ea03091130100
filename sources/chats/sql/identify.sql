-- What the match :key is: a message of a conversation, or a conversation with its opening message.
SELECT conversation_id, id AS message_id, last_modified
FROM messages
WHERE :key % 2 = 1 AND row = :key / 2
UNION ALL
SELECT id AS conversation_id, NULL AS message_id, last_modified
FROM conversations
WHERE :key % 2 = 0 AND row = :key / 2;
