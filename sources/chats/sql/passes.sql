-- Returns a row if the match :key has this sender and character. A conversation has the sender of
-- its opening message, except in a search by title (:by_title), since a title has no sender.
SELECT 1
FROM messages
JOIN conversations ON conversations.id = messages.conversation_id
WHERE :key % 2 = 1
  AND messages.row = :key / 2
  AND (:sender IS NULL OR messages.sender = :sender COLLATE NOCASE)
  AND (:character_id IS NULL OR conversations.character_id = :character_id)
UNION ALL
SELECT 1
FROM conversations
WHERE :key % 2 = 0
  AND row = :key / 2
  AND (:character_id IS NULL OR character_id = :character_id)
  AND (
      :sender IS NULL
      OR NOT :by_title AND :sender = (
          SELECT sender
          FROM messages
          WHERE conversation_id = conversations.id AND deleted = 0
          ORDER BY timestamp, messages.row
          LIMIT 1
      ) COLLATE NOCASE
  );
