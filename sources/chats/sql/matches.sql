-- Titles and messages that match :query and the filters.
SELECT rowid AS key, bm25(chat_fts, 1.0, 1.0) AS bm25
FROM chat_fts
WHERE chat_fts MATCH :query
  AND (:filtered = 0 OR EXISTS (
      SELECT 1
      FROM messages
      JOIN conversations ON conversations.id = messages.conversation_id
      WHERE chat_fts.rowid % 2 = 1
        AND messages.row = chat_fts.rowid / 2
        AND (:sender IS NULL OR messages.sender = :sender COLLATE NOCASE)
        AND (:character_id IS NULL OR conversations.character_id = :character_id)
  ) OR EXISTS (
      SELECT 1
      FROM conversations
      WHERE chat_fts.rowid % 2 = 0
        AND conversations.row = chat_fts.rowid / 2
        AND :sender IS NULL
        AND conversations.character_id = :character_id
  ));
